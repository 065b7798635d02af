"""Ability of a run against worked examples, dense grids and known failures of others."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.ability import estimate_abilities
from recurring_eval.calibration import RaschModel, fit_rasch
from recurring_eval.errors import InputError
from recurring_eval.irt import pass_probability
from recurring_eval.response_matrix import ResponseMatrix
from tests.abilities_of_one_run import estimate_ability
from tests.response_matrices import read_wide_csv, simulate_rasch
from tests.shared_data import shared_path


def model_of(difficulty: list[float] | np.ndarray, mean=0.0, precision=1.0) -> RaschModel:
    n = len(difficulty)
    return RaschModel(
        question_ids=tuple(f"q{j:04d}" for j in range(n)),
        difficulty=np.asarray(difficulty, dtype=float),
        run_ids=(),
        ability=np.empty(0),
        n_responses=np.zeros(n, dtype=np.int64),
        prior_mean=mean,
        prior_precision=precision,
        log_posterior=0.0,
        log_likelihood=0.0,
        converged=True,
        n_iterations=0,
    )


WORKED = model_of([-1, 0, 0.5, 1.5])
ONES = [1, 1, 1, 1]


@st.composite
def runs(draw: st.DrawFn) -> tuple[RaschModel, np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 12))
    difficulty = draw(st.lists(st.floats(-6, 6), min_size=n, max_size=n))
    trials = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    passes = [draw(st.integers(0, t)) for t in trials]
    model = model_of(difficulty, draw(st.floats(-3, 3)), draw(st.sampled_from([0.05, 1.0, 9.0])))
    return model, np.array(passes), np.array(trials)


def log_density(model: RaschModel, passes, trials, theta: np.ndarray) -> np.ndarray:
    x = theta[:, np.newaxis] - model.difficulty
    fails = np.asarray(trials) - passes
    likelihood = -(passes * np.logaddexp(0, -x) + fails * np.logaddexp(0, x)).sum(axis=1)
    return likelihood - model.prior_precision * (theta - model.prior_mean) ** 2 / 2


# --- worked examples -----------------------------------------------------------------


def test_worked_example_of_a_unit_prior():
    estimate = estimate_ability(WORKED, [1, 1, 0, 0], ONES)
    assert estimate.theta == pytest.approx([0.113961], abs=1e-6)
    assert estimate.covariance[0, 0] ** 0.5 == pytest.approx(0.737975, abs=1e-6)
    assert estimate.n_observed == 4


def test_worked_example_of_a_wide_prior_and_of_almost_none():
    wide = estimate_ability(WORKED, [1, 1, 0, 0], ONES, prior_precision=1 / 9)
    assert wide.theta == pytest.approx([0.220746], abs=1e-6)
    assert wide.covariance[0, 0] ** 0.5 == pytest.approx(1.026258, abs=1e-6)
    flat = estimate_ability(WORKED, [1, 1, 0, 0], ONES, prior_precision=1e-9)
    assert flat.theta == pytest.approx([0.25], abs=1e-6)


@pytest.mark.parametrize(
    ("passes", "precision", "theta"),
    [(ONES, 1.0, 1.221645), (ONES, 1 / 9, 2.975650), ([0, 0, 0, 0], 1.0, -1.016363)],
)
def test_worked_examples_of_all_pass_and_all_fail(passes, precision: float, theta: float):
    estimate = estimate_ability(WORKED, passes, ONES, prior_precision=precision)
    assert estimate.theta == pytest.approx([theta], abs=1e-6)


def test_worked_example_of_the_predicted_score():
    model = model_of([-1, 0, 0.5, 1.5, 0.8, -0.3])
    theta = estimate_ability(model, [1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]).theta
    unseen = pass_probability(theta, model.difficulty[4:])
    assert (2 + unseen.sum()) / 6 == pytest.approx(0.489492, abs=1e-6)


# --- brute force ---------------------------------------------------------------------


@given(runs())
@settings(max_examples=60, deadline=None)
def test_equals_a_dense_grid(run):
    model, passes, trials = run
    estimate = estimate_ability(model, passes, trials)
    theta = float(estimate.theta[0])
    grid = np.linspace(-60, 60, 2401)
    coarse = grid[log_density(model, passes, trials, grid).argmax()]
    fine = np.linspace(coarse - 0.06, coarse + 0.06, 2401)
    assert theta == pytest.approx(fine[log_density(model, passes, trials, fine).argmax()], abs=1e-4)
    h = 1e-3
    low, mid, high = log_density(model, passes, trials, theta + np.array([-h, 0, h]))
    assert 1 / estimate.covariance[0, 0] == pytest.approx(-(low - 2 * mid + high) / h**2, rel=1e-3)


@given(runs())
@settings(max_examples=100, deadline=None)
def test_gradient_vanishes(run):
    model, passes, trials = run
    theta = estimate_ability(model, passes, trials).theta
    slope = (passes - trials / (1 + np.exp(model.difficulty - theta))).sum()
    assert slope == pytest.approx(
        model.prior_precision * float(theta[0] - model.prior_mean), abs=1e-9
    )


@pytest.mark.parametrize("precision", [1e-9, 0.05, 1e6])
@pytest.mark.parametrize("mean", [-1000.0, 0.0, 1000.0])
@pytest.mark.parametrize("share", [0.0, 0.002, 0.5, 1.0])
def test_finite_and_at_the_optimum_from_any_prior(precision: float, mean: float, share: float):
    model = model_of(np.linspace(-4, 4, 500))
    passes = (np.arange(500) < share * 500).astype(int)
    options = {"prior_mean": mean, "prior_precision": precision}
    estimate = estimate_ability(model, passes, np.ones(500), **options)
    theta = float(estimate.theta[0])
    slope = np.sum(passes - pass_probability(theta, model.difficulty))
    assert slope == pytest.approx(precision * (theta - mean), rel=1e-6, abs=1e-7)
    assert estimate.covariance[0, 0] > 0


# --- invariants ----------------------------------------------------------------------


@given(runs(), st.data())
@settings(max_examples=60, deadline=None)
def test_one_added_pass_never_lowers_the_ability(run, data: st.DataObject):
    model, passes, trials = run
    open_questions = np.flatnonzero(passes < trials)
    if not len(open_questions):
        return
    better = passes.copy()
    better[data.draw(st.sampled_from(open_questions.tolist()))] += 1
    before = estimate_ability(model, passes, trials).theta
    assert estimate_ability(model, better, trials).theta >= before


@given(runs())
@settings(max_examples=60, deadline=None)
def test_trials_weigh_like_repeated_questions(run):
    model, passes, trials = run
    repeated = model_of(np.repeat(model.difficulty, trials))
    verdicts = [1.0 * (t < s) for s, n in zip(passes, trials, strict=True) for t in range(n)]
    options = {"prior_mean": model.prior_mean, "prior_precision": model.prior_precision}
    one = estimate_ability(model, passes, trials)
    other = estimate_ability(repeated, verdicts, np.ones(len(verdicts)), **options)
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-10)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9)


@given(runs(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_of_questions_does_not_change_a_bit(run, random):
    model, passes, trials = run
    order = random.sample(range(len(passes)), len(passes))
    shuffled = dataclasses.replace(
        model,
        question_ids=tuple(model.question_ids[j] for j in order),
        difficulty=model.difficulty[order],
    )
    one = estimate_ability(model, passes, trials)
    other = estimate_ability(shuffled, passes[order], trials[order])
    assert other.theta == one.theta
    assert other.covariance == one.covariance


def test_many_runs_at_once_equal_one_by_one():
    """Scoring a frame failed where its rows worked (mirt #195)."""
    rng = np.random.default_rng(1)
    model = model_of(rng.normal(0, 2, 300), mean=0.4, precision=0.05)
    trials = rng.integers(0, 3, (40, 300))
    trials[5] = 0
    passes = rng.binomial(trials, rng.random((40, 1)))
    passes[6], passes[7] = 0, trials[7]
    together = estimate_abilities(model, passes, trials)
    alone = [estimate_ability(model, s, t).theta[0] for s, t in zip(passes, trials, strict=True)]
    assert together.tolist() == alone
    assert together[3:9].tolist() == estimate_abilities(model, passes[3:9], trials[3:9]).tolist()
    assert estimate_abilities(model, passes[:0], trials[:0]).shape == (0,)


def test_without_a_verdict_it_is_the_prior():
    estimate = estimate_ability(model_of([0.0, 1.0], mean=0.7, precision=0.05), [0, 0], [0, 0])
    assert estimate.theta.tolist() == [0.7]
    assert estimate.covariance.tolist() == [[20.0]]
    assert estimate.n_observed == 0


# --- failures seen elsewhere ---------------------------------------------------------


@pytest.mark.parametrize("verdict", [0, 1])
def test_a_constant_prefix_moves_the_ability_one_way(verdict: int):
    """Wrong answers raised the ability (catsim #31) or broke its error (catSurv #29)."""
    model = model_of(np.linspace(1, 5, 30), precision=0.05)
    moves = []
    for length in range(31):
        trials = (np.arange(30) < length).astype(int)
        estimate = estimate_ability(model, verdict * trials, trials)
        assert np.isfinite(estimate.covariance).all()
        moves.append(float(estimate.theta[0]))
    assert (np.diff(moves) * (1 if verdict else -1) > 0).all()


def test_two_mixed_answers_are_finite():
    """Two mixed answers sent the ability to minus infinity (mirtCAT #14)."""
    estimate = estimate_ability(model_of([-3.0, 3.0], precision=0.05), [0, 1], [1, 1])
    assert abs(estimate.theta[0]) < 1e-9


def test_the_weak_default_prior_follows_an_improved_agent():
    difficulty = np.random.default_rng(2).normal(0, 2, 519)
    model = model_of(difficulty, mean=-1.0, precision=0.05)
    passes = np.random.default_rng(3).binomial(1, pass_probability(2.0, difficulty))
    asked = np.arange(519) % 20 == 0
    estimate = estimate_ability(model, passes * asked, asked)
    assert abs(estimate.theta[0] - 2.0) < 2.5 * estimate.covariance[0, 0] ** 0.5


def test_full_runs_of_real_agents_score_as_they_did():
    assert_only_the_prior_pulls(read_wide_csv(shared_path("data/swebench_verified.csv")), 67)


def test_full_runs_of_simulated_agents_score_as_they_did():
    rng = np.random.default_rng(6)
    matrix = simulate_rasch(rng.normal(0.5, 1, 40), rng.normal(0, 2, 400), rng=rng)
    assert_only_the_prior_pulls(matrix, 20)


def assert_only_the_prior_pulls(matrix: ResponseMatrix, n_calibrating: int) -> None:
    """With every question asked, expected less observed passes are the prior's pull."""
    model = fit_rasch(matrix.select_runs(slice(0, n_calibrating)))
    theta = estimate_abilities(model, matrix.passes, matrix.trials)
    expected = pass_probability(theta[:, np.newaxis], model.difficulty).mean(axis=1)
    pull = 0.05 * (model.prior_mean - theta) / matrix.n_questions
    np.testing.assert_allclose(expected - matrix.pass_rates(), pull, atol=1e-10)
    assert np.abs(pull).max() < 0.001


# --- refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passes", "trials", "message"),
    [
        ([1, 0], [1, 1], "4 questions"),
        ([1, 0, 0, 2], ONES, "between 0 and `trials`"),
        ([-1, 0, 0, 0], ONES, "between 0 and `trials`"),
        ([np.nan, 0, 0, 0], ONES, "between 0 and `trials`"),
    ],
)
def test_bad_counts_are_refused(passes, trials, message: str):
    with pytest.raises(InputError, match=message):
        estimate_ability(WORKED, passes, trials)


@pytest.mark.parametrize("precision", [0.0, -1.0, np.nan, np.inf])
def test_an_improper_prior_is_refused(precision: float):
    with pytest.raises(InputError, match="precision"):
        estimate_ability(WORKED, [1, 1, 0, 0], ONES, prior_precision=precision)
