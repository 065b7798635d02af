"""Rasch fit against a general optimiser, theory, recovery and known failures of others."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recurring_eval.calibration import RaschModel, fit_rasch, held_out_log_likelihood
from recurring_eval.errors import FitError, InputError, NotEnoughDataError
from recurring_eval.response_matrix import ResponseMatrix
from tests.reference_fits import rasch_by_lbfgs, rasch_objective
from tests.response_matrices import make_matrix, permuted, read_wide_csv, simulate_rasch
from tests.shared_data import shared_path


@st.composite
def matrices(draw: st.DrawFn) -> ResponseMatrix:
    shape = draw(st.tuples(st.integers(2, 7), st.integers(2, 7)))
    trials = draw(hnp.arrays(np.int16, shape, elements=st.integers(0, 3)))
    trials[:2, :2] = np.maximum(trials[:2, :2], 1)
    share = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.4, 0.6, 1.0])))
    return make_matrix(np.rint(share * trials).astype(np.int16), trials)


def simulated(m: int, n: int, seed: int, **options: float) -> ResponseMatrix:
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(0.3, 1, m), rng.normal(0, 2.5, n)
    return simulate_rasch(ability, difficulty, rng=rng, **options)


def assert_at_the_optimum(model: RaschModel, matrix: ResponseMatrix, *sds: float) -> None:
    parameters = np.concatenate([model.ability, model.difficulty])
    value, gradient = rasch_objective(parameters, matrix, *sds)
    assert np.abs(gradient).max() < 1e-8
    assert model.log_posterior == pytest.approx(-value, rel=1e-12, abs=1e-9)


# --- against independent computation -------------------------------------------------


@pytest.mark.parametrize(("m", "n"), [(30, 80), (80, 30), (50, 50), (2, 200), (200, 2)])
def test_equals_a_tight_general_optimiser(m: int, n: int):
    matrix = simulated(m, n, seed=m + n, missing=0.1)
    model = fit_rasch(matrix)
    best, theta, beta = rasch_by_lbfgs(matrix)
    assert model.log_posterior == pytest.approx(best, rel=1e-9)
    np.testing.assert_allclose(model.ability, theta, atol=1e-4)
    np.testing.assert_allclose(model.difficulty, beta, atol=1e-4)
    assert_at_the_optimum(model, matrix)


@pytest.mark.parametrize("name", ["swebench_verified", "swebench_pro"])
def test_equals_a_tight_general_optimiser_on_real_runs(name: str):
    matrix = read_wide_csv(shared_path(f"data/{name}.csv"))
    model = fit_rasch(matrix)
    best, _, _ = rasch_by_lbfgs(matrix)
    assert model.log_posterior == pytest.approx(best, rel=1e-6)
    assert model.log_posterior >= best - 1e-6
    assert_at_the_optimum(model, matrix)
    # Complete data: the raw score is sufficient, so both orders agree.
    scores = matrix.pass_rates()
    assert (np.diff(model.ability[np.argsort(scores, kind="stable")]) > -1e-9).all()


@given(matrices())
@settings(max_examples=60, deadline=None)
def test_gradient_vanishes_for_any_data(matrix: ResponseMatrix):
    model = fit_rasch(matrix)
    assert model.converged
    assert_at_the_optimum(model, matrix)


@pytest.mark.parametrize("sds", [(0.1, 0.1), (1.0, 3.0), (20.0, 50.0), (1000.0, 1000.0)])
def test_gradient_vanishes_under_tight_and_loose_priors(sds: tuple[float, float]):
    matrix = simulated(20, 40, seed=4)
    model = fit_rasch(matrix, ability_sd=sds[0], difficulty_sd=sds[1])
    assert_at_the_optimum(model, matrix, *sds)


def test_two_by_two_mirror_has_the_closed_form():
    # One run passes all, one none: theta = +-t, beta = 0, and t = 2 sigma(-t).
    model = fit_rasch(make_matrix([[1, 1], [0, 0]]))
    t = model.ability[0]
    assert t == pytest.approx(2 / (1 + math.exp(t)), abs=1e-12)
    assert model.ability[1] == pytest.approx(-t, abs=1e-12)
    np.testing.assert_allclose(model.difficulty, 0, atol=1e-12)


@pytest.mark.parametrize("sds", [(1.0, 3.0), (0.7, 2.0)])
def test_log_posterior_is_the_objective(sds: tuple[float, float]):
    matrix = simulated(6, 9, seed=1, missing=0.2)
    model = fit_rasch(matrix, ability_sd=sds[0], difficulty_sd=sds[1])
    value, _ = rasch_objective(np.concatenate([model.ability, model.difficulty]), matrix, *sds)
    assert model.log_posterior == pytest.approx(-value, rel=1e-12)


def test_log_likelihood_is_the_posterior_without_its_priors():
    matrix = simulated(12, 15, seed=3)
    model = fit_rasch(matrix)
    penalty = np.sum(model.ability**2) / 2 + np.sum(model.difficulty**2) / 18
    assert model.log_likelihood == pytest.approx(model.log_posterior + penalty, rel=1e-12)


# --- theory --------------------------------------------------------------------------


def test_doubling_the_trials_is_halving_the_prior_variances():
    matrix = simulated(15, 25, seed=5, missing=0.1)
    doubled = make_matrix(2 * matrix.passes, 2 * matrix.trials)
    one = fit_rasch(matrix)
    two = fit_rasch(doubled, ability_sd=1 / math.sqrt(2), difficulty_sd=3 / math.sqrt(2))
    np.testing.assert_allclose(two.ability, one.ability, atol=1e-9)
    np.testing.assert_allclose(two.difficulty, one.difficulty, atol=1e-9)
    assert two.log_posterior == pytest.approx(2 * one.log_posterior, rel=1e-12)
    assert two.n_responses.tolist() == (2 * one.n_responses).tolist()


def test_swapping_pass_and_fail_flips_the_signs():
    matrix = simulated(12, 20, seed=6, missing=0.1, n_trials=2)
    one = fit_rasch(matrix)
    other = fit_rasch(make_matrix(matrix.trials - matrix.passes, matrix.trials))
    np.testing.assert_allclose(other.ability, -one.ability, atol=1e-9)
    np.testing.assert_allclose(other.difficulty, -one.difficulty, atol=1e-9)


def test_identical_questions_get_one_difficulty():
    matrix = simulated(20, 10, seed=7)
    columns = matrix.passes[:, [0, 1, 1, 1, 2, 3]]
    model = fit_rasch(make_matrix(columns))
    np.testing.assert_allclose(model.difficulty[1:4], model.difficulty[1], atol=1e-10)


@pytest.mark.parametrize(("n_trials", "missing"), [(1, 0.05), (3, 0.3)])
def test_recovers_known_parameters(n_trials: int, missing: float):
    rng = np.random.default_rng(8)
    ability, difficulty = rng.normal(0, 1, 287), rng.normal(0, 1.5, 519)
    ability -= ability.mean()
    matrix = simulate_rasch(ability, difficulty, rng=rng, n_trials=n_trials, missing=missing)
    model = fit_rasch(matrix)
    p = 1 / (1 + np.exp(-np.subtract.outer(ability, difficulty)))
    weight = matrix.trials * p * (1 - p)
    z_ability = (model.ability - ability) * np.sqrt(weight.sum(axis=1))
    z_difficulty = (model.difficulty - difficulty) * np.sqrt(weight.sum(axis=0))
    # Errors in units of their standard errors: near standard normal.
    for z in (z_ability, z_difficulty):
        assert abs(z.mean()) < 0.5
        assert 0.85 < z.std() < 1.15


# --- order and identity --------------------------------------------------------------


@given(matrices(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_order_of_rows_and_columns_does_not_change_a_bit(matrix: ResponseMatrix, random):
    rows = random.sample(range(matrix.n_runs), matrix.n_runs)
    columns = random.sample(range(matrix.n_questions), matrix.n_questions)
    one, other = fit_rasch(matrix), fit_rasch(permuted(matrix, rows, columns))
    assert other.ability.tolist() == one.ability[rows].tolist()
    assert other.difficulty.tolist() == one.difficulty[columns].tolist()
    assert other.n_responses.tolist() == one.n_responses[columns].tolist()
    for name in ("log_posterior", "log_likelihood", "prior_mean", "n_iterations", "fingerprint"):
        assert getattr(other, name) == getattr(one, name)


def test_order_does_not_change_a_bit_of_a_large_fit():
    matrix = simulated(120, 260, seed=9, missing=0.05)
    rng = np.random.default_rng(10)
    rows, columns = rng.permutation(120).tolist(), rng.permutation(260).tolist()
    one, other = fit_rasch(matrix), fit_rasch(permuted(matrix, rows, columns))
    assert other.difficulty.tolist() == one.difficulty[columns].tolist()
    assert other.ability.tolist() == one.ability[rows].tolist()


def test_fingerprint_follows_ids_and_difficulties_to_six_decimals():
    model = fit_rasch(simulated(10, 6, seed=11))
    assert len(model.fingerprint) == 64
    rounded = np.round(model.difficulty, 6)
    assert dataclasses.replace(model, difficulty=rounded).fingerprint == model.fingerprint
    moved = rounded + np.array([2e-6, 0, 0, 0, 0, 0])
    assert dataclasses.replace(model, difficulty=moved).fingerprint != model.fingerprint
    renamed = ("other", *model.question_ids[1:])
    assert dataclasses.replace(model, question_ids=renamed).fingerprint != model.fingerprint
    zeros = dataclasses.replace(model, difficulty=np.zeros(6))
    assert dataclasses.replace(model, difficulty=-np.zeros(6)).fingerprint == zeros.fingerprint


def test_prior_of_a_new_run_is_the_mean_of_the_20_most_recent_with_a_verdict():
    matrix = simulated(30, 12, seed=12)
    trials = np.array(matrix.trials)
    trials[27] = 0
    matrix = make_matrix(matrix.passes * trials, trials)
    model = fit_rasch(permuted(matrix, list(range(29, -1, -1)), list(range(12))))
    in_time = model.ability[::-1]
    assert model.prior_mean == pytest.approx(np.delete(in_time, 27)[-20:].mean(), abs=1e-12)
    assert model.prior_precision == 0.05


# --- sparse, constant and separable data ---------------------------------------------


def test_rows_and_columns_without_a_verdict_keep_the_prior_and_change_nothing():
    matrix = simulated(10, 14, seed=13)
    trials = np.pad(matrix.trials, ((0, 2), (0, 3)))
    model = fit_rasch(make_matrix(np.pad(matrix.passes, ((0, 2), (0, 3))), trials))
    bare = fit_rasch(matrix)
    assert model.difficulty[-3:].tolist() == [0, 0, 0]
    assert model.ability[-2:].tolist() == [0, 0]
    assert model.n_responses[-3:].tolist() == [0, 0, 0]
    np.testing.assert_allclose(model.difficulty[:-3], bare.difficulty, atol=1e-10)
    assert model.prior_mean == pytest.approx(bare.prior_mean, abs=1e-10)


def test_all_pass_and_all_fail_runs_are_ordered_and_finite():
    """An all-pass run once got the lowest ability (py-irt #25)."""
    body = simulated(8, 15, seed=14).passes
    counts = np.vstack([np.ones(15, int), body, np.zeros(15, int)])
    model = fit_rasch(make_matrix(counts))
    assert model.ability.argmax() == 0
    assert model.ability.argmin() == 9
    assert np.corrcoef(model.ability, counts.mean(axis=1))[0, 1] > 0.9


def test_constant_and_separable_questions_stay_moderate():
    """Unbounded optimisers diverge here (girth #37)."""
    counts = np.zeros((20, 4), int)
    counts[:, 0] = 1
    counts[10:, 2] = 1
    counts[::2, 3] = 1
    model = fit_rasch(make_matrix(counts))
    assert model.converged
    assert (np.abs(model.difficulty) < 8).all()
    assert model.difficulty[0] < model.difficulty[2] < model.difficulty[1]


@pytest.mark.parametrize("value", [0, 1])
def test_a_history_of_one_verdict_only_is_finite(value: int):
    model = fit_rasch(make_matrix(np.full((5, 7), value)))
    sign = 1 if value else -1
    assert (sign * model.ability > 0).all()
    assert (sign * model.difficulty < 0).all()


def test_rare_questions_shrink_to_the_prior_and_show_their_responses():
    """A handful of responses gave meaningless parameters unnoticed (girth #110)."""
    passes = np.array(simulated(40, 10, seed=15).passes)
    trials = np.ones_like(passes)
    passes[:, :2] = 0
    trials[3:, 0] = 0
    model = fit_rasch(make_matrix(passes * trials, trials))
    assert model.n_responses[:2].tolist() == [3, 40]
    assert 0 < model.difficulty[0] < model.difficulty[1]


def test_unconnected_blocks_of_runs_and_questions_are_fitted():
    passes = np.kron(np.eye(2, dtype=int), np.array([[1, 0, 1], [0, 0, 1]]))
    trials = np.kron(np.eye(2, dtype=int), np.ones((2, 3), int))
    model = fit_rasch(make_matrix(passes, trials))
    np.testing.assert_allclose(model.difficulty[:3], model.difficulty[3:], atol=1e-10)


def test_the_largest_counts_are_handled():
    trials = np.full((3, 4), 32767, np.int16)
    passes = np.array([[32767] * 4, [0] * 4, [1, 100, 30000, 32766]], np.int16)
    matrix = make_matrix(passes, trials)
    model = fit_rasch(matrix)
    _, gradient = rasch_objective(np.concatenate([model.ability, model.difficulty]), matrix)
    assert np.abs(gradient).max() < 1e-6


@given(matrices(), st.data())
@settings(max_examples=40, deadline=None)
def test_one_added_pass_never_lowers_the_runs_ability(matrix: ResponseMatrix, data: st.DataObject):
    failed = np.argwhere(matrix.passes < matrix.trials)
    if not len(failed):
        return
    i, j = failed[data.draw(st.integers(0, len(failed) - 1))]
    passes = np.array(matrix.passes)
    passes[i, j] += 1
    before, after = fit_rasch(matrix), fit_rasch(make_matrix(passes, matrix.trials))
    assert after.ability[i] > before.ability[i] - 1e-9
    assert after.difficulty[j] < before.difficulty[j] + 1e-9


# --- refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trials", "counts"),
    [
        (np.ones((1, 5), int), "1 runs and 5 questions"),
        (np.ones((5, 1), int), "5 runs and 1 questions"),
        (np.zeros((4, 4), int), "0 runs and 0 questions"),
        (np.array([[1, 1], [0, 0]]), "1 runs and 2 questions"),
        (np.zeros((0, 0), int), "0 runs and 0 questions"),
    ],
)
def test_too_little_data_is_refused(trials: np.ndarray, counts: str):
    with pytest.raises(NotEnoughDataError, match=counts):
        fit_rasch(make_matrix(np.zeros_like(trials), trials))


def test_no_convergence_is_an_error(monkeypatch):
    monkeypatch.setattr("recurring_eval.calibration.rasch.MAX_ITERATIONS", 1)
    with pytest.raises(FitError, match=r"still moves by .* after 1 iterations"):
        fit_rasch(simulated(20, 30, seed=16))


@pytest.mark.parametrize(
    "setting",
    [
        {"ability_sd": 0.0},
        {"difficulty_sd": math.inf},
        {"ability_sd": math.nan},
    ],
)
def test_bad_settings_are_named(setting: dict[str, float]):
    with pytest.raises(InputError, match=next(iter(setting))):
        fit_rasch(simulated(4, 4, seed=17), **setting)


def test_a_model_refuses_parameters_that_do_not_fit():
    model = fit_rasch(simulated(5, 6, seed=18))
    for change, message in [
        ({"difficulty": np.zeros(5)}, "per question"),
        ({"ability": np.zeros(6)}, "per run"),
        ({"difficulty": np.full(6, np.nan)}, "finite"),
        ({"question_ids": ("a",) * 6}, "twice"),
        ({"prior_precision": 0.0}, "prior"),
    ]:
        with pytest.raises(InputError, match=message):
            dataclasses.replace(model, **change)


def test_parameters_are_read_only_copies():
    model = fit_rasch(simulated(5, 6, seed=19))
    with pytest.raises(ValueError, match="read-only"):
        model.difficulty[0] = 1.0
    assert model.discrimination.tolist() == [1.0] * 6


# --- held-out cells ------------------------------------------------------------------


def test_held_out_likelihood_lies_between_the_truth_and_a_coin():
    rng = np.random.default_rng(20)
    ability, difficulty = rng.normal(0, 1, 100), rng.normal(0, 2, 150)
    matrix = simulate_rasch(ability, difficulty, rng=rng)
    p = 1 / (1 + np.exp(-np.subtract.outer(ability, difficulty)))
    entropy = np.mean(p * np.log(p) + (1 - p) * np.log1p(-p))
    value = held_out_log_likelihood(matrix, rng=np.random.default_rng(21))
    assert -math.log(2) < entropy - 0.03 < value < entropy + 0.03


def test_held_out_likelihood_does_not_depend_on_order():
    matrix = simulated(12, 9, seed=22, missing=0.1)
    other = permuted(matrix, list(range(11, -1, -1)), list(range(8, -1, -1)))
    values = [held_out_log_likelihood(x, rng=np.random.default_rng(1)) for x in (matrix, other)]
    assert values[0] == values[1]


def test_held_out_likelihood_refuses_tiny_histories():
    with pytest.raises(NotEnoughDataError, match="held out"):
        held_out_log_likelihood(simulated(2, 2, seed=23), rng=np.random.default_rng(5))
