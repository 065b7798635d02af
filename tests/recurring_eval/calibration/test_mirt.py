"""The multidimensional 2PL fit against textbook formulas, a general optimiser and theory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from recurring_eval.calibration import MirtModel, fit_mirt
from recurring_eval.calibration.mirt import factor_start
from recurring_eval.calibration.mirt_newton import Objective, Pair
from recurring_eval.errors import InputError, NotEnoughDataError
from tests.mirt_models import mirt_by_lbfgs, simulate_mirt, textbook_objective
from tests.response_matrices import make_matrix, permuted


def flat(model: MirtModel) -> np.ndarray:
    return np.concatenate([model.ability.ravel(), model.discrimination.ravel(), model.difficulty])


def objective_of(matrix, d, sd):
    return Objective.of(
        matrix.passes, matrix.trials, dimensions=d, discrimination_sd=sd, difficulty_sd=3.0
    )


@pytest.fixture(scope="module")
def matrix():
    return simulate_mirt(40, 60, 3, rng=np.random.default_rng(1), missing=0.1, n_trials=2)


@pytest.fixture(scope="module")
def model(matrix):
    return fit_mirt(matrix, dimensions=3, discrimination_sd=0.5)


def test_gradient_and_curvature_match_differences(matrix):
    rng = np.random.default_rng(2)
    objective = objective_of(matrix, 3, 0.4)
    here = Pair(runs=rng.normal(size=(40, 3)), questions=rng.normal(size=(60, 4)))

    def gradient(z):
        point = objective.at(here.shaped(z).runs, here.shaped(z).questions)
        return objective.gradient(point).flat()

    def value(z):
        return objective.at(here.shaped(z).runs, here.shaped(z).questions).log_posterior

    z, direction = here.flat(), rng.normal(size=here.flat().size)
    numeric = optimize.approx_fprime(z, value, 1e-6)
    np.testing.assert_allclose(gradient(z), numeric, atol=2e-3)
    product = objective.curvature_product(
        objective.at(here.runs, here.questions), here.shaped(direction)
    )
    step = 1e-5
    difference = -(gradient(z + step * direction) - gradient(z - step * direction)) / (2 * step)
    np.testing.assert_allclose(product.flat(), difference, rtol=1e-6, atol=1e-6)


def test_blocks_are_the_diagonal_of_the_curvature(matrix):
    rng = np.random.default_rng(3)
    objective = objective_of(matrix, 2, 0.4)
    point = objective.at(rng.normal(size=(40, 2)), rng.normal(size=(60, 3)))
    for i, axis in ((5, 0), (7, 1)):
        unit = Pair(runs=np.zeros((40, 2)), questions=np.zeros((60, 3)))
        unit.runs[i, axis] = 1
        product = objective.curvature_product(point, unit)
        np.testing.assert_allclose(product.runs[i], objective.run_blocks(point)[i, axis])
        unit = Pair(runs=np.zeros((40, 2)), questions=np.zeros((60, 3)))
        unit.questions[i, axis] = 1
        product = objective.curvature_product(point, unit)
        np.testing.assert_allclose(product.questions[i], objective.question_blocks(point)[i, axis])


def test_fit_is_a_stationary_point_of_the_textbook_objective(matrix, model):
    value, gradient = textbook_objective(flat(model), matrix, 3, 0.5)
    assert model.converged
    assert model.log_posterior == pytest.approx(-value, rel=1e-12)
    assert np.abs(gradient).max() < 1e-3
    assert model.log_likelihood > model.log_posterior


@pytest.mark.parametrize("sd", [0.15, 0.5])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_log_posterior_is_no_lower_than_lbfgs_from_the_same_start(matrix, d, sd):
    start = factor_start(matrix.passes.astype(float), matrix.trials.astype(float), d)
    flat_start = np.concatenate(
        [start.runs.ravel(), start.questions[:, :-1].ravel(), start.questions[:, -1]]
    )
    fitted = fit_mirt(matrix, dimensions=d, discrimination_sd=sd)
    best = mirt_by_lbfgs(matrix, flat_start, d, sd, ftol=1e-13)
    assert fitted.converged
    assert fitted.log_posterior >= best - 1e-6


def test_no_random_start_finds_a_higher_mode(matrix, model):
    rng = np.random.default_rng(4)
    found = [mirt_by_lbfgs(matrix, rng.normal(0, 0.5, flat(model).size), 3, 0.5) for _ in range(8)]
    assert model.log_posterior >= max(found) - 1e-6


def test_abilities_and_slopes_balance_as_their_priors_demand(model):
    # Stationarity under theta -> theta M, alpha -> alpha M^-T for every M.
    balance = model.discrimination.T @ model.discrimination / 0.5**2
    np.testing.assert_allclose(model.ability.T @ model.ability, balance, atol=1e-2)


def test_axes_are_principal_and_point_upwards(matrix, model):
    spread = np.diag(model.ability.T @ model.ability)
    assert (np.diff(spread) <= 1e-2).all()
    scores = matrix.pass_rates()
    for k in range(3):
        assert np.corrcoef(model.ability[:, k], scores)[0, 1] >= 0
        assert model.discrimination[:, k].sum() >= 0


def test_all_pass_run_is_the_ablest_and_all_fail_run_the_least():
    """F01: free-sign slopes must not turn the scale upside down."""
    for seed in range(5):
        drawn = simulate_mirt(12, 30, 2, rng=np.random.default_rng(seed))
        passes = drawn.passes.copy()
        passes[0], passes[1] = 1, 0
        for d in (1, 2):
            fitted = fit_mirt(make_matrix(passes), dimensions=d, discrimination_sd=0.5)
            general = fitted.ability[:, 0]
            assert general[0] == general.max()
            assert general[1] == general.min()
            assert fitted.discrimination[:, 0].sum() > 0


def test_order_of_rows_and_columns_changes_no_bit(matrix, model):
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(40), rng.permutation(60)
    other = fit_mirt(permuted(matrix, rows, columns), dimensions=3, discrimination_sd=0.5)
    np.testing.assert_array_equal(other.ability, model.ability[rows])
    np.testing.assert_array_equal(other.discrimination, model.discrimination[columns])
    np.testing.assert_array_equal(other.difficulty, model.difficulty[columns])
    np.testing.assert_array_equal(other.prior_mean, model.prior_mean)
    assert other.log_posterior == model.log_posterior
    assert other.fingerprint == model.fingerprint


def test_trials_count_as_repeated_verdicts():
    once = simulate_mirt(20, 30, 2, rng=np.random.default_rng(6))
    stacked = make_matrix(np.tile(once.passes, (1, 2)))
    twice = make_matrix(2 * once.passes, 2 * once.trials)
    # Twice the columns with the slopes' prior halved in strength is twice the trials.
    doubled = fit_mirt(twice, dimensions=1, discrimination_sd=0.5, difficulty_sd=3.0)
    copied = fit_mirt(
        stacked, dimensions=1, discrimination_sd=0.5 * 2**0.5, difficulty_sd=3.0 * 2**0.5
    )
    np.testing.assert_allclose(copied.ability, doubled.ability, atol=1e-4)
    np.testing.assert_allclose(copied.difficulty[:30], doubled.difficulty, atol=1e-4)


def test_unanswered_runs_and_questions_keep_the_prior(matrix):
    passes = np.zeros((42, 61), dtype=int)
    trials = np.zeros((42, 61), dtype=int)
    passes[:40, :60], trials[:40, :60] = matrix.passes, matrix.trials
    fitted = fit_mirt(make_matrix(passes, trials), dimensions=3, discrimination_sd=0.5)
    assert not fitted.ability[40:].any()
    assert not fitted.discrimination[60].any()
    assert fitted.difficulty[60] == 0
    assert fitted.n_responses[60] == 0
    np.testing.assert_allclose(fitted.prior_mean, fitted.ability[20:40].mean(axis=0))


def test_running_out_of_iterations_is_reported(matrix, monkeypatch):
    monkeypatch.setattr("recurring_eval.calibration.mirt.MAX_ITERATIONS", 1)
    assert not fit_mirt(matrix, dimensions=3, discrimination_sd=0.5).converged


def test_bad_settings_and_short_histories_are_refused(matrix):
    with pytest.raises(InputError, match="discrimination_sd"):
        fit_mirt(matrix, dimensions=2, discrimination_sd=0.0)
    with pytest.raises(InputError, match="dimensions"):
        fit_mirt(matrix, dimensions=0, discrimination_sd=0.5)
    with pytest.raises(NotEnoughDataError, match="import more"):
        fit_mirt(matrix, dimensions=41, discrimination_sd=0.5)
    with pytest.raises(NotEnoughDataError, match="import more"):
        fit_mirt(make_matrix([[1, 0]]), dimensions=1, discrimination_sd=0.5)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), m=st.integers(2, 12), n=st.integers(2, 12), data=st.data())
def test_any_counts_give_a_finite_fit_that_points_upwards(seed, m, n, data):
    rng = np.random.default_rng(seed)
    d = data.draw(st.integers(1, min(m, n, 4)))
    trials = rng.integers(0, 3, (m, n))
    trials[:2, :2] = 1
    trials[range(min(m, n)), range(min(m, n))] = 1
    trials[0, :], trials[:, 0] = 1, 1
    passes = rng.binomial(trials, rng.choice([0.0, 0.3, 0.9, 1.0]))
    matrix = make_matrix(passes, trials)
    fitted = fit_mirt(matrix, dimensions=d, discrimination_sd=0.5)
    assert fitted.converged
    scores = matrix.pass_rates()
    covariance = (scores - scores.mean()) @ fitted.ability
    assert (covariance >= -1e-9).all()
    sums = fitted.discrimination.sum(axis=0)
    if covariance @ sums > 1e-9:
        assert (sums >= -1e-9).all()
