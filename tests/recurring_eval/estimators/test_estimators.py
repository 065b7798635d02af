"""Estimators against worked examples A4 and E, theory and brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.estimators import (
    RANDOM_DIVISOR,
    GpirtConstants,
    clip_to_feasible,
    feasible_range,
    fit_gpirt_constants,
    gpirt_score,
    gpirt_weight,
    pirt_score,
    score_variance,
    weighted_score,
)
from tests.abilities_of_one_run import estimate_ability
from tests.rasch_models import make_model
from tests.response_matrices import make_matrix, permuted, simulate_rasch

A4 = make_model([-1.0, 0.0, 0.5, 1.5, 0.8, -0.3], prior_precision=1.0)
A4_PASSES = np.array([1, 1, 0, 0, 0, 0])
A4_TRIALS = np.array([1, 1, 1, 1, 0, 0])


def test_worked_example_a4_pirt() -> None:
    ability = estimate_ability(A4, A4_PASSES, A4_TRIALS)
    assert ability.theta[0] == pytest.approx(0.113961, abs=1e-5)
    score = pirt_score(A4, ability.theta[0], A4_PASSES, A4_TRIALS)
    assert float(score) == pytest.approx(0.489492, abs=1e-5)


@pytest.mark.parametrize(
    ("bias", "strata", "random", "blend"),
    [(0.03, 0.049285, 0.012794, 0.504929), (0.10, 0.365482, 0.125874, 0.536548)],
)
def test_worked_example_e_gpirt(bias: float, strata: float, random: float, blend: float) -> None:
    runs = make_matrix([[int(c) for c in row] for row in ("110100", "111100", "100100", "111110")])
    rates = runs.pass_rates()
    variance = float(np.mean(rates * (1 - rates)))
    assert variance == pytest.approx(0.208333, abs=1e-6)
    constants = GpirtConstants(outcome_variance=variance, irt_bias=bias)
    share = gpirt_weight(constants, 3)
    assert float(share) == pytest.approx(strata, abs=1e-6)
    assert float(gpirt_weight(constants, 3, design_divisor=RANDOM_DIVISOR)) == pytest.approx(
        random, abs=1e-6
    )
    assert float(share * 0.60 + (1 - share) * 0.50) == pytest.approx(blend, abs=1e-6)


def test_gpirt_weight_edges() -> None:
    assert gpirt_weight(GpirtConstants(outcome_variance=0.2, irt_bias=0.0), 5) == 0.0
    assert gpirt_weight(GpirtConstants(outcome_variance=0.0, irt_bias=0.0), 5) == 0.0
    assert gpirt_weight(GpirtConstants(outcome_variance=0.2, irt_bias=0.1), 0) == 0.0
    for bad in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="irt_bias"):
            GpirtConstants(outcome_variance=0.2, irt_bias=bad)


def test_gpirt_is_the_blend_and_falls_back_to_pirt() -> None:
    model = make_model([-1.0, 0.0, 1.0, 2.0])
    weights = np.array([0.75, 0.0, 0.25, 0.0])
    constants = GpirtConstants(outcome_variance=0.2, irt_bias=0.1)
    trials = np.array([[1, 1, 1, 1], [0, 1, 0, 1]])
    passes = np.array([[1, 1, 0, 1], [0, 1, 0, 1]])
    ability = np.array([0.3, 0.3])
    score = gpirt_score(model, ability, passes, trials, weights=weights, constants=constants)
    p = 1 / (1 + np.exp(-(0.3 - model.difficulty)))
    share = 0.01 / (0.2 / 8 + 0.01)
    assert score[0] == pytest.approx(share * 0.75 + (1 - share) * (1 + p[1] + 0 + p[3]) / 4)
    assert score[1] == pytest.approx(p.mean())


def test_weighted_drops_missing_and_renormalises() -> None:
    weights = np.array([0.5, 0.3, 0.2, 0.0])
    trials = np.array([[1, 1, 1, 1], [0, 1, 2, 1], [0, 0, 0, 1]])
    passes = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 1]])
    score = weighted_score(passes, trials, weights)
    np.testing.assert_allclose(score, [0.7, (0.3 + 0.1) / 0.5, np.nan])


counts = hnp.arrays(np.int16, (3, 5), elements=st.integers(0, 3))
masks = hnp.arrays(np.bool_, (3, 5))


@given(counts, counts, masks, masks)
def test_feasible_range_is_what_enumeration_finds(
    passes: np.ndarray, trials: np.ndarray, asked: np.ndarray, population: np.ndarray
) -> None:
    passes = np.minimum(passes, trials)
    low, high = feasible_range(passes, trials, asked=asked, population=population)
    for i in range(3):
        values = [
            (passes[i, j] / trials[i, j],) * 2 if asked[i, j] and trials[i, j] else (0.0, 1.0)
            for j in range(5)
            if population[i, j]
        ]
        if not values:
            assert (low[i], high[i]) == (0.0, 1.0)
            continue
        assert low[i] == pytest.approx(np.mean([v[0] for v in values]))
        assert high[i] == pytest.approx(np.mean([v[1] for v in values]))
    model = make_model(np.linspace(-2, 2, 5))
    score = pirt_score(model, np.zeros(3), passes, trials, asked=asked, population=population)
    some = population.any(axis=1)
    assert (score[some] >= low[some] - 1e-12).all()
    assert (score[some] <= high[some] + 1e-12).all()
    clipped = clip_to_feasible(np.full(3, 2.0), passes, trials, asked=asked, population=population)
    np.testing.assert_array_equal(clipped, high)


def test_model_sd_is_that_of_simulated_scores() -> None:
    # Given the ability, and its normal posterior, first order: V_U + B g_U^2.
    rng = np.random.default_rng(2)
    model = make_model(rng.normal(0, 1.5, size=400))
    trials = np.zeros(400, dtype=int)
    trials[:100] = 1
    variance = score_variance(model, 0.4, trials)
    theta = rng.normal(0.4, np.sqrt(float(variance.covariance[0, 0])), size=4000)
    p = 1 / (1 + np.exp(-(theta[:, None] - model.difficulty[100:])))
    unseen = (rng.random(p.shape) < p).sum(axis=1) / 400
    assert float(variance.model_sd) == pytest.approx(unseen.std(), rel=0.05)
    assert score_variance(model, 0.4, np.ones(400, dtype=int)).model_sd == 0.0


def test_constants_are_measured_on_held_out_runs() -> None:
    rng = np.random.default_rng(3)
    ability, difficulty = rng.normal(0.5, 0.4, size=80), rng.normal(0, 1.5, size=200)
    matrix = simulate_rasch(ability, difficulty, rng=rng, missing=0.1)
    constants = fit_gpirt_constants(matrix, rng=np.random.default_rng(1))
    rates = matrix.pass_rates()
    assert constants.outcome_variance == pytest.approx(np.mean(rates * (1 - rates)))
    # 90 of 180 outcomes unseen, mean p(1-p) .18: V_U = 16.2, ability adds as much again, so the
    # SD is sqrt(32.4)/180 = .0316 and the mean absolute error .0252, known to 12 % from 40 runs.
    assert 0.0252 * 0.7 < constants.irt_bias < 0.0252 * 1.3
    shuffled = permuted(matrix, rng.permutation(80).tolist(), rng.permutation(200).tolist())
    assert fit_gpirt_constants(shuffled, rng=np.random.default_rng(1)) == constants


def test_constants_need_four_runs() -> None:
    with pytest.raises(NotEnoughDataError, match="4 full runs"):
        fit_gpirt_constants(make_matrix(np.eye(3, dtype=int)), rng=np.random.default_rng(0))
