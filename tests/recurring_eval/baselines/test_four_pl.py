"""4PL curves, EAP and the bank's fit against worked examples B, C, L and theory."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from recurring_eval.irt import sigmoid
from recurring_eval.methods.atlas import AbilityGrid, FourPl, eap, fit_four_pl

SLOPE, LOCATION = np.array([0.8, 1.5, 1.2]), np.array([-0.5, 0.3, 1.0])
TWO_PL = FourPl(slope=SLOPE, location=LOCATION, lower=np.zeros(3), upper=np.ones(3))
FOUR_PL = FourPl(
    slope=SLOPE,
    location=LOCATION,
    lower=np.array([0.05, 0.1, 0.0]),
    upper=np.array([0.95, 0.9, 1.0]),
)


def log_likelihood(passes, trials, nodes):
    p = FOUR_PL.probability(np.asarray(nodes)[:, np.newaxis])
    return (passes * np.log(p) + (np.asarray(trials) - passes) * np.log1p(-p)).sum(axis=1)


@pytest.mark.parametrize(
    ("bank", "probability", "information"),
    [
        (TWO_PL, (0.672607, 0.537430, 0.327393), (0.140932, 0.559348, 0.317098)),
        (FOUR_PL, (0.655346, 0.529944, 0.327393), (0.111294, 0.357258, 0.317098)),
    ],
    ids=["B1", "B2"],
)
def test_worked_examples_of_probability_and_information(bank, probability, information):
    assert bank.probability(0.4) == pytest.approx(probability, abs=1e-6)
    assert bank.information(0.4) == pytest.approx(information, abs=1e-6)


def test_information_is_the_squared_slope_over_the_variance():
    theta, h = np.linspace(-4, 4, 41)[:, np.newaxis], 1e-5
    p = FOUR_PL.probability(theta)
    slope = (FOUR_PL.probability(theta + h) - FOUR_PL.probability(theta - h)) / (2 * h)
    assert FOUR_PL.information(theta) == pytest.approx(slope**2 / (p * (1 - p)), rel=1e-6)


@pytest.mark.parametrize(
    ("n_items", "mean", "tolerance"),
    [(0, 0.0, 2e-4), (1, 0.265192, 2e-4), (2, -0.119329, 2e-4), (3, 0.450592, 1e-5)],
)
def test_worked_example_c_of_eap(n_items, mean, tolerance):
    grid = AbilityGrid.trapezoid(33)
    trials = (np.arange(3) < n_items).astype(int)
    found = eap(log_likelihood(np.array([1, 0, 1]) * trials, trials, grid.nodes), grid)
    # The example's means after one and two items are those of unhalved end weights.
    assert found == pytest.approx(mean, abs=tolerance)


def test_eap_converges_to_the_integral():
    grid = AbilityGrid.trapezoid(4001)
    passes, trials = np.array([1, 0, 1]), np.ones(3)

    def weighted(theta, power):
        density = np.exp(log_likelihood(passes, trials, [theta])[0]) * stats.norm.pdf(theta)
        return theta**power * density

    total, first = (integrate.quad(weighted, -4, 4, args=(power,))[0] for power in (0, 1))
    mean = eap(log_likelihood(passes, trials, grid.nodes), grid)
    assert mean == pytest.approx(first / total, abs=1e-6)
    assert mean == pytest.approx(0.450604, abs=1e-5)


def simulate(seed, m, n, n_trials=1, missing=0.0):
    rng = np.random.default_rng(seed)
    bank = FourPl(
        slope=np.exp(rng.normal(0, 0.4, n)),
        location=rng.normal(0, 1.2, n),
        lower=rng.beta(2, 18, n),
        upper=rng.beta(18, 2, n),
    )
    p = bank.probability(rng.normal(size=(m, 1)))
    trials = np.where(rng.random(p.shape) < missing, 0, n_trials)
    return bank, rng.binomial(trials, p), trials


def test_fit_recovers_the_curves_of_many_runs():
    bank, passes, trials = simulate(3, 4000, 15)
    fitted = fit_four_pl(passes, trials)
    theta = np.linspace(-2, 2, 21)[:, np.newaxis]
    error = np.abs(fitted.probability(theta) - bank.probability(theta))
    assert error.mean() < 0.02
    assert error.max() < 0.1


def test_fit_is_a_mode_of_the_marginal_posterior():
    """No general optimiser finds a better posterior near the fit."""
    _, passes, trials = simulate(4, 30, 6, missing=0.1)
    bank = fit_four_pl(passes, trials)
    nodes = np.linspace(-4, 4, 41)
    weights = stats.norm.pdf(nodes)
    weights[[0, -1]] /= 2

    def negative_posterior(packed):
        log_slope, location, lower, upper = packed.reshape(4, -1)
        c, d = sigmoid(lower), sigmoid(upper)
        p = c + (d - c) * sigmoid(np.exp(log_slope) * (nodes[:, np.newaxis] - location))
        cells = passes @ np.log(p).T + (trials - passes) @ np.log1p(-p).T
        likelihood = np.log(np.exp(cells) @ (weights / weights.sum())).sum()
        prior = (
            stats.norm.logpdf(log_slope, 0, 0.5)
            + stats.norm.logpdf(location, 0, 2)
            + stats.beta.logpdf(c, 2, 18)
            + stats.beta.logpdf(d, 18, 2)
        )
        return -likelihood - prior.sum()

    found = np.concatenate(
        [
            np.log(bank.slope),
            bank.location,
            np.log(bank.lower / (1 - bank.lower)),
            np.log(bank.upper / (1 - bank.upper)),
        ]
    )
    polished = optimize.minimize(negative_posterior, found, method="BFGS")
    assert negative_posterior(found) - polished.fun < 1e-3
    assert found == pytest.approx(polished.x, abs=0.05)


def test_constant_missing_and_equal_questions_are_fitted():
    _, passes, trials = simulate(5, 12, 5, n_trials=2)
    constant = np.stack([np.zeros(12, int), np.full(12, 2)], axis=1)
    passes = np.hstack([passes, constant, passes[:, :1], np.zeros((12, 1), int)])
    trials = np.hstack([trials, np.full((12, 2), 2), trials[:, :1], np.zeros((12, 1), int)])
    bank = fit_four_pl(passes, trials)
    p = bank.probability(0.0)
    assert np.isfinite(p).all()
    assert p[5] < p[:5].min()
    assert p[6] > p[:5].max()
    assert p[7] == p[0]
    assert bank.slope[8] == pytest.approx(1.0)  # nothing but the prior
