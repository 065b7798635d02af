"""Exact posteriors and rate fits of small made banks, by quadrature, sums and scipy alone."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from recurring_eval.hspr.group_rates import Outcome
from recurring_eval.hspr.items import fit_zero_inflated_beta
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.hspr.result import score_posterior
from tests.recurring_eval.hspr.builders import config_of, model_of_groups

INTERCEPT = np.array([-0.5, 0.8, 1.6])
SLOPE = np.array([1.0, 0.6, 1.3])
GROUPS = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
ANSWERS = [(0, 1), (1, 1), (1, 0), (2, 0)]
PRECISION = 0.5


def exact_pmf(concentration):
    """Posterior of the score: the groups' rates integrated out, the ability by quadrature.

    Given the ability, a group's rate is Beta with mean p and `concentration(p)` = a + b.
    """
    passes = np.array([sum(y for g, y in ANSWERS if g == group) for group in range(3)])
    asked = np.array([sum(g == group for g, _ in ANSWERS) for group in range(3)])
    left = np.bincount(GROUPS) - asked

    def at(theta):
        p = 1.0 / (1.0 + np.exp(-(INTERCEPT + SLOPE * theta)))
        weight = stats.norm.pdf(theta, scale=PRECISION**-0.5)
        pmf = np.array([weight])
        for group in range(3):
            a, b = concentration(p[group]) * np.array([p[group], 1.0 - p[group]])
            seen = stats.betabinom.pmf(passes[group], asked[group], a, b)
            a, b = a + passes[group], b + asked[group] - passes[group]
            pmf = np.convolve(
                pmf, seen * stats.betabinom.pmf(np.arange(left[group] + 1), left[group], a, b)
            )
        return pmf

    total, _ = integrate.quad_vec(at, -12.0, 12.0, epsabs=1e-13)
    return np.concatenate([np.zeros(passes.sum()), total / total.sum()])


@pytest.mark.parametrize("kappa", [0.5, 4.0])
def test_posterior_of_the_score_is_the_exact_one(kappa):
    model = model_of_groups(GROUPS, INTERCEPT, SLOPE)
    posterior = NodePosterior(
        model, config_of(0, PRECISION, kappa=kappa, double_precision=True), n_nodes=8192
    )
    for group, passed in ANSWERS:
        posterior.count(Outcome(group, float(passed), float(1 - passed)))
    posterior.refresh()
    score = score_posterior(
        posterior, posterior.unasked.astype(np.intp), observed_passes=2.0, n_questions=len(GROUPS)
    )
    exact = exact_pmf(lambda p: kappa / (p * (1.0 - p)))
    pmf = score.distribution.pmf
    scores = np.arange(len(exact)) / len(GROUPS)
    assert score.mean == pytest.approx(exact @ scores, abs=3e-4)
    assert score.sd**2 == pytest.approx(exact @ scores**2 - (exact @ scores) ** 2, rel=5e-3)
    assert pmf[: len(exact)] == pytest.approx(exact, abs=1e-3)


def test_zero_inflated_beta_has_the_likelihood_that_a_general_search_finds():
    rng = np.random.default_rng(4)
    sources = rng.integers(6, 15, 400)
    rates = np.where(rng.random(400) < 0.2, 0.0, rng.beta(0.8, 1.7, 400))
    passes = rng.binomial(sources, rates)

    def negative(x):
        pi, a, b = 1.0 / (1.0 + np.exp(-x[0])), np.exp(x[1]), np.exp(x[2])
        chance = (1.0 - pi) * stats.betabinom.pmf(passes, sources, a, b)
        return -np.log(chance + pi * (passes == 0)).sum()

    found = optimize.minimize(
        negative, [-1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9}
    )
    fit = fit_zero_inflated_beta(passes.astype(float), sources.astype(float))
    logit = np.log(fit.zero_mass / (1.0 - fit.zero_mass))
    mine = negative([logit, np.log(fit.alpha), np.log(fit.beta)])
    assert mine == pytest.approx(found.fun, rel=1e-9)
    assert (logit, np.log(fit.alpha), np.log(fit.beta)) == pytest.approx(found.x, abs=1e-3)
    # A question that nobody passed is a structural zero or a low rate that nobody met.
    low = (1.0 - fit.zero_mass) * stats.betabinom.pmf(0, 10, fit.alpha, fit.beta)
    expected = low / (low + fit.zero_mass) * fit.alpha / (10 + fit.alpha + fit.beta)
    zero, three = fit.initial_rates(np.array([0.0, 3.0]), np.array([10.0, 10.0]))
    assert zero == pytest.approx(expected, rel=1e-9)
    assert three == pytest.approx((3 + fit.alpha) / (10 + fit.alpha + fit.beta), rel=1e-12)
