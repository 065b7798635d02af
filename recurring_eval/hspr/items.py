r"""What the sources say about each question, before questions are grouped.

Initial pass rates are a zero-inflated Beta fitted to the sources: the historical rates follow
:math:`\pi\delta_0 + (1-\pi)\mathrm{Beta}(\alpha,\beta)`. From them start the logistic items
and their residual directions (HSPR, Appendix A, *Item initialization* and *Residual factors*).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from recurring_eval.calibration.logistic_items import (
    fit_logistic_items,
    residual_factors,
    standardised_abilities,
)
from recurring_eval.hspr.config import MAX_RANK
from recurring_eval.irt import logit, sigmoid

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RATE_FLOOR: Final = 1e-4
LOG_BOUND: Final = 5.0
"""Bound of the logs of alpha and beta, and of the logit of pi: pi lies in [.0067, .9933]."""

STARTS: Final = ((-1.0, 0.0, 0.0), (0.0, 0.5, 0.5), (-3.0, -1.0, 1.0))
"""(logit pi, log alpha, log beta) from where the likelihood is climbed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroInflatedBeta:
    """Distribution of the questions' pass rates among source agents.

    Attributes
    ----------
    zero_mass : float
        Probability pi that a question is never passed.
    alpha, beta : float
        Of the continuous component.
    """

    zero_mass: float
    alpha: float
    beta: float

    def continuous_given_zero(self, n_sources: Floats) -> Floats:
        """Probability that a question without a pass is no structural zero.

        Parameters
        ----------
        n_sources : ndarray, shape (N,)
            Sources that answered each question.
        """
        zero_count = (1.0 - self.zero_mass) * np.exp(
            special.betaln(self.alpha, self.beta + n_sources)
            - special.betaln(self.alpha, self.beta)
        )
        return np.asarray(zero_count / (self.zero_mass + zero_count), dtype=np.float64)

    def initial_rates(self, passes: Floats, n_sources: Floats) -> Floats:
        """Smoothed pass rate of each question, clipped to [1e-4, 1 - 1e-4]."""
        rate = (passes + self.alpha) / (n_sources + self.alpha + self.beta)
        rate = np.where(passes > 0, rate, rate * self.continuous_given_zero(n_sources))
        return np.clip(rate, RATE_FLOOR, 1.0 - RATE_FLOOR)


def fit_zero_inflated_beta(passes: Floats, n_sources: Floats) -> ZeroInflatedBeta:
    """Maximum marginal likelihood from three starts, logs bounded to [-5, 5].

    Parameters
    ----------
    passes : ndarray, shape (N,)
        Sum over sources of passes/trials; fractional with repeated trials.
    n_sources : ndarray, shape (N,)
        Sources with a valid verdict on the question. Questions without any carry
        no information and are left out.
    """
    answered = n_sources > 0
    # Equal counts are evaluated once: banks repeat few distinct ones many times.
    counts, multiplicity = np.unique(
        np.stack([passes[answered], n_sources[answered]]), axis=1, return_counts=True
    )
    bounds = [(-LOG_BOUND, LOG_BOUND)] * 3
    best = min(
        (
            optimize.minimize(
                _negative_log_likelihood,
                start,
                args=(counts[0], counts[1], multiplicity.astype(np.float64)),
                method="L-BFGS-B",
                jac=True,
                bounds=bounds,
                options={"ftol": 1e-14, "gtol": 1e-9},
            )
            for start in STARTS
        ),
        key=lambda fit: float(fit.fun),
    )
    return ZeroInflatedBeta(
        zero_mass=float(special.expit(best.x[0])),
        alpha=float(np.exp(best.x[1])),
        beta=float(np.exp(best.x[2])),
    )


def _negative_log_likelihood(
    parameters: Floats, passes: Floats, n_sources: Floats, multiplicity: Floats
) -> tuple[float, Floats]:
    """Value and gradient; a count of zero passes may come from either component."""
    logit_pi, alpha, beta = parameters[0], np.exp(parameters[1]), np.exp(parameters[2])
    pi = special.expit(logit_pi)
    fails = n_sources - passes
    log_beta = special.betaln(alpha + passes, beta + fails) - special.betaln(alpha, beta)
    continuous = special.log_expit(-logit_pi) + log_beta
    zero = passes == 0
    total = np.where(zero, np.logaddexp(special.log_expit(logit_pi), continuous), continuous)
    share = np.where(zero, np.exp(continuous - total), 1.0)

    pooled = special.digamma(alpha + beta) - special.digamma(alpha + beta + n_sources)
    d_alpha = alpha * (special.digamma(alpha + passes) - special.digamma(alpha) + pooled)
    d_beta = beta * (special.digamma(beta + fails) - special.digamma(beta) + pooled)
    # The structural component gains what the continuous one loses in weight.
    d_logit = (1.0 - share) * (1.0 - pi) - share * pi
    gradient = np.array(
        [
            (multiplicity * d_logit).sum(),
            (multiplicity * share * d_alpha).sum(),
            (multiplicity * share * d_beta).sum(),
        ]
    )
    return -float((multiplicity * total).sum()), -gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFit:
    """Source-fitted parameters of every question.

    Attributes
    ----------
    rates : ZeroInflatedBeta
    ability : ndarray, shape (m,)
        Standardised logits of the sources' smoothed scores.
    initial_intercept, intercept, slope : ndarray, shape (N,)
    directions : ndarray, shape (N, MAX_RANK)
        Scaled residual loadings, equation (19); zero beyond the rank.
    fitted : ndarray, shape (m, N)
        Fitted probabilities of the sources.
    """

    rates: ZeroInflatedBeta
    ability: Floats
    initial_intercept: Floats
    intercept: Floats
    slope: Floats
    directions: Floats
    fitted: Floats


def fit_items(rates: Floats, valid: Bools) -> ItemFit:
    """Fit intercepts, slopes and residual directions.

    Parameters
    ----------
    rates : ndarray, shape (m, N)
        passes/trials per source and question; ignored where not valid.
    valid : ndarray of bool, shape (m, N)

    Notes
    -----
    A cell holds passes/trials and counts once, however many trials it has; cells without a
    valid verdict are left out of every sum.
    """
    cells = np.where(valid, rates, 0.0)
    n_sources = valid.sum(axis=0, dtype=np.float64)
    passes = cells.sum(axis=0)
    prior = fit_zero_inflated_beta(passes, n_sources)
    initial = logit(prior.initial_rates(passes, n_sources))
    weight = valid.astype(np.float64)
    ability = standardised_abilities(cells, weight)
    intercept, slope = fit_logistic_items(cells, weight, ability, initial)
    fitted = sigmoid(intercept + np.outer(ability, slope))
    return ItemFit(
        rates=prior,
        ability=ability,
        initial_intercept=initial,
        intercept=intercept,
        slope=slope,
        directions=residual_directions(cells, valid, fitted),
        fitted=fitted,
    )


def residual_directions(cells: Floats, valid: Bools, fitted: Floats) -> Floats:
    """Residual factors of the sources, shape (N, MAX_RANK).

    A missing cell has residual zero after centring over the sources that answered.
    """
    answered = np.maximum(valid.sum(axis=0), 1)
    residual = np.where(valid, cells - fitted, 0.0)
    residual = np.where(valid, residual - residual.sum(axis=0) / answered, 0.0)
    variance = np.where(valid, fitted * (1.0 - fitted), 0.0).sum(axis=0) / answered
    return residual_factors(residual, variance, MAX_RANK)
