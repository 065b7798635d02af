"""Logistic items with residual factors against a general optimiser and simulated truth."""

import numpy as np
import pytest
from scipy import optimize

from recurring_eval.errors import NotEnoughDataError
from recurring_eval.irt import logit, sigmoid
from recurring_eval.methods.factors import LogisticFactors, factor_scores, fit_logistic_factors
from tests.response_matrices import make_matrix, simulate_rasch


def make_source(seed=1, m=12, n=25, **options):
    rng = np.random.default_rng(seed)
    return simulate_rasch(rng.normal(size=m), rng.normal(0, 1.5, size=n), rng=rng, **options)


def test_items_are_posterior_modes():
    source = make_source(missing=0.15, n_trials=2)
    found = fit_logistic_factors(source, rank=2)
    total_passes, total_trials = source.passes.sum(axis=1), source.trials.sum(axis=1)
    theta = logit((total_passes + 0.5) / (total_trials + 1))
    theta = (theta - theta.mean()) / theta.std()
    b0 = logit((source.passes.sum(axis=0) + 0.5) / (source.trials.sum(axis=0) + 1))
    for j in range(source.n_questions):

        def negative(x, j=j):
            eta = x[0] + theta * x[1]
            cells = source.passes[:, j] * eta - source.trials[:, j] * np.logaddexp(0, eta)
            return -cells.sum() + (x[0] - b0[j]) ** 2 / 2 + (x[1] - 1) ** 2

        best = optimize.minimize(negative, [b0[j], 1.0], bounds=[(None, None), (0.05, None)])
        assert found.intercept[j] == pytest.approx(best.x[0], abs=1e-3)
        assert found.loadings[j, 0] == pytest.approx(best.x[1], abs=1e-3)


def test_factors_reproduce_the_covariance_of_the_residuals():
    source = make_source(m=9, n=20)
    found = fit_logistic_factors(source, rank=8)
    theta = logit((source.passes.sum(axis=1) + 0.5) / 21)
    theta = (theta - theta.mean()) / theta.std()
    p = sigmoid(found.intercept + np.outer(theta, found.loadings[:, 0]))
    residual = source.passes - p
    spread = np.maximum((p * (1 - p)).mean(axis=0), 0.08)
    scaled = found.loadings[:, 1:] * spread[:, np.newaxis]
    assert scaled @ scaled.T == pytest.approx(np.cov(residual, rowvar=False), abs=1e-10)


def test_factors_beyond_the_sources_rank_are_zero():
    found = fit_logistic_factors(make_source(m=3), rank=6)
    assert found.loadings.shape == (25, 7)
    assert np.count_nonzero(np.abs(found.loadings[:, 1:]).max(axis=0) > 1e-12) <= 2


def test_one_run_is_refused():
    with pytest.raises(NotEnoughDataError, match="at least 2"):
        fit_logistic_factors(make_matrix([[1, 0]]), rank=1)


def test_scores_are_predictions_at_the_posterior_mode():
    rng = np.random.default_rng(3)
    factors = LogisticFactors(
        question_ids=tuple(f"q{j}" for j in range(15)),
        intercept=rng.normal(size=15),
        loadings=rng.normal(size=(15, 3)),
    )
    passes = rng.integers(0, 2, size=(4, 15))
    asked, population = np.arange(15) < 6, np.arange(15) != 9
    inside = np.tile(population, (4, 1))
    found = factor_scores(factors, passes, np.ones_like(passes), asked=asked, population=inside)
    precision = np.array([0.25, 4.0, 4.0])
    for i in range(4):

        def negative(z, i=i):
            eta = factors.intercept + factors.loadings @ z
            cells = passes[i] * eta - np.logaddexp(0, eta)
            return -cells[asked].sum() + (precision * z**2).sum() / 2

        z = optimize.minimize(negative, np.zeros(3)).x
        p = sigmoid(factors.intercept + factors.loadings @ z)
        expected = np.where(asked, passes[i], p)[population].mean()
        assert found[i] == pytest.approx(expected, abs=1e-5)
