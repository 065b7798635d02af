"""HSPR as the paper writes it, in double precision and without any shortcut.

An oracle for `recurring_eval.hspr`: every quantity of every group is recomputed from
probabilities after each outcome, proposals come from a generic optimiser's Hessian
formula, and the median from 131,072 complete draws. Written from the paper's
Appendices A and B, sharing no code with the product.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special
from scipy.stats import qmc

SEED = 20261005
TIE = 1e-9


@dataclass
class NaiveModel:
    """Groups by first question; one latent prior."""

    group_of_question: np.ndarray
    b: np.ndarray
    loadings: np.ndarray
    precision: np.ndarray
    kappa: float


@dataclass
class NaivePosterior:
    z: np.ndarray
    base: np.ndarray
    w: np.ndarray
    p: np.ndarray


def probabilities(model, z):
    return np.clip(special.expit(model.b[:, None] + model.loadings @ z), 1e-12, 1 - 1e-12)


def log_likelihood(model, p, n, s):
    """Log of the ratio of Beta functions of equation (8), summed over groups, at each node."""
    total = np.zeros(p.shape[1])
    for g in np.flatnonzero(n):
        q, kappa = p[g], model.kappa
        f = n[g] - s[g]
        total += s[g] * np.log(q) + f * np.log1p(-q)
        if np.isfinite(kappa):
            for k in range(int(s[g])):
                total += np.log1p(k * (1 - q) / kappa)
            for k in range(int(f)):
                total += np.log1p(k * q / kappa)
            for k in range(int(n[g])):
                total -= np.log1p(k * q * (1 - q) / kappa)
    return total


def proposal(model, n, s):
    """Mode of latent state and local offsets by BFGS, polished by Newton; Schur precision."""
    d = len(model.precision)
    seen = np.flatnonzero(n)
    if not len(seen):
        return np.zeros(d), np.diag(model.precision)
    b, loadings, count, passed = model.b[seen], model.loadings[seen], n[seen], s[seen]
    offsets = np.isfinite(model.kappa)

    def value_and_gradient(x):
        z, delta = x[:d], x[d:]
        eta = b + loadings @ z + (delta if offsets else 0.0)
        value = count @ np.logaddexp(0, eta) - passed @ eta + model.precision @ z**2 / 2
        residual = count * special.expit(eta) - passed
        gradient = [loadings.T @ residual + model.precision * z]
        if offsets:
            value += model.kappa * delta @ delta / 2
            gradient.append(residual + model.kappa * delta)
        return value, np.concatenate(gradient)

    def hessian(x):
        eta = b + loadings @ x[:d] + (x[d:] if offsets else 0.0)
        information = count * special.expit(eta) * special.expit(-eta)
        design = np.hstack([loadings, np.eye(len(b))]) if offsets else loadings
        prior = np.concatenate([model.precision, np.full(len(x) - d, model.kappa)])
        return design.T @ (information[:, None] * design) + np.diag(prior)

    x = np.zeros(d + (len(seen) if offsets else 0))
    x = optimize.minimize(value_and_gradient, x, jac=True, method="BFGS").x
    for _ in range(20):
        x = x - np.linalg.solve(hessian(x), value_and_gradient(x)[1])
    full = hessian(x)
    precision = full[:d, :d]
    if offsets:
        precision = precision - full[:d, d:] @ np.linalg.solve(full[d:, d:], full[d:, :d])
    return x[:d], precision


def refresh(model, n, s, n_nodes):
    mean, precision = proposal(model, n, s)
    points = qmc.Sobol(len(mean), scramble=True, rng=SEED).random(n_nodes)
    x = special.ndtri(np.clip(points, 2.0**-53, 1 - 2.0**-53)).T
    z = mean[:, None] + np.linalg.cholesky(np.linalg.inv(precision)) @ x
    base = (x**2).sum(0) / 2 - model.precision @ z**2 / 2
    return weigh(model, z, base, n, s)


def weigh(model, z, base, n, s):
    p = probabilities(model, z)
    log_w = base + log_likelihood(model, p, n, s)
    w = np.exp(log_w - log_w.max())
    return NaivePosterior(z, base, w / w.sum(), p)


def moments(model, p, n, s):
    """m and tau^2 of Appendix B, each (G, J)."""
    if np.isinf(model.kappa):
        return p, np.zeros_like(p)
    c = model.kappa / (p * (1 - p))
    a, f = c * p + s[:, None], c * (1 - p) + (n - s)[:, None]
    m = a / (a + f)
    return m, m * (1 - m) / (a + f + 1)


def score_gains(model, posterior, n, s):
    size = np.bincount(model.group_of_question)
    left, total = size - n, size.sum()
    m, tau2 = moments(model, posterior.p, n, s)
    w = posterior.w
    mean = left @ m
    rate = m @ w
    within = (m * (1 - m) + (left - 1)[:, None] * tau2) @ w
    between = m @ (w * (mean - w @ mean))
    gain = ((within + between) / total) ** 2 / (rate * (1 - rate))
    return np.where(left > 0, gain, -np.inf)


def latent_gains(model, posterior, n, s):
    left = np.bincount(model.group_of_question) - n
    m, _ = moments(model, posterior.p, n, s)
    w = posterior.w
    rate = m @ w
    centred = posterior.z - (posterior.z @ w)[:, None]
    covariance = (m * w) @ centred.T
    gain = (covariance**2).sum(1) / (rate * (1 - rate))
    return np.where(left > 0, gain, -np.inf)


def score_moments(model, posterior, n, s, observed):
    left = np.bincount(model.group_of_question) - n
    total = len(model.group_of_question)
    m, tau2 = moments(model, posterior.p, n, s)
    mean = left @ m
    variance = left @ (m * (1 - m)) + (left * (left - 1)) @ tau2
    w = posterior.w
    centre = w @ mean
    return (observed + centre) / total, (w @ (variance + (mean - centre) ** 2)) / total**2


def path(model, outcomes, budget, order, n_nodes, acquisition="score"):
    """Questions asked, final posterior and counts; `order` ranks a group's questions."""
    groups = len(model.b)
    n, s = np.zeros(groups), np.zeros(groups)
    asked = []
    gains = score_gains if acquisition == "score" else latent_gains
    for t in range(budget):
        if t % 8 == 0:
            posterior = refresh(model, n, s, n_nodes)
        gain = gains(model, posterior, n, s)
        g = int(np.flatnonzero(gain >= gain.max() * (1 - TIE))[0])
        left = [q for q in np.flatnonzero(model.group_of_question == g) if q not in asked]
        question = int(min(left, key=lambda q: order[q]))
        asked.append(question)
        n[g] += 1
        s[g] += outcomes[question]
        if t % 8 != 7 or t == budget - 1:
            posterior = weigh(model, posterior.z, posterior.base, n, s)
    return asked, posterior, n, s


def drawn_median(model, posterior, n, s, rng, draws=131_072):
    left = np.bincount(model.group_of_question) - n
    node = rng.choice(len(posterior.w), size=draws, p=posterior.w)
    c = model.kappa / (posterior.p * (1 - posterior.p))
    total = np.zeros(draws)
    for g in np.flatnonzero(left):
        a = c[g] * posterior.p[g] + s[g]
        f = c[g] * (1 - posterior.p[g]) + n[g] - s[g]
        total += rng.binomial(int(left[g]), rng.beta(a[node], f[node]))
    return np.median(s.sum() + total) / len(model.group_of_question)
