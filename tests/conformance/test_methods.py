"""What every live method must do, whatever it chooses and estimates."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.intervals import ConformalScale
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.estimate import estimate_score
from recurring_eval.methods.evidence import Evidence, aligned_weights, gather_evidence
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.registry import METHODS, live_methods, method_named
from recurring_eval.records import Flag, ScoreEstimate
from tests.conformance.calibrations import (
    TRIED,
    Tried,
    every_fixed_method,
    every_method,
    shuffled,
)
from tests.rasch_models import make_model
from tests.response_matrices import make_matrix

every_monotone_method = pytest.mark.parametrize("tried", [t for t in TRIED if t.monotone], ids=str)

N = 12
SCALES = (
    ConformalScale(residuals=np.empty(0), model_sd=np.empty(0)),
    ConformalScale(residuals=np.full(5, 0.08), model_sd=np.full(5, 0.02)),
    ConformalScale(residuals=np.linspace(-0.2, 0.3, 30), model_sd=np.full(30, 0.05)),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A calibration, a selection of its questions and a run's verdicts."""

    calibration: Calibration
    passes: NDArray[np.int64]
    trials: NDArray[np.int64]
    asked: NDArray[np.bool_]
    weights: NDArray[np.float64] | None

    @property
    def evidence(self) -> Evidence:
        return gather_evidence(
            self.calibration,
            self.passes[np.newaxis],
            self.trials[np.newaxis],
            weights=self.weights,
            asked=None if self.weights is not None else self.asked,
        )

    def estimate(self, tried: Tried, scale: ConformalScale = SCALES[2]) -> ScoreEstimate:
        return estimate_score(tried.method, self.evidence, scale=scale)


def make_case(tried: Tried, seed: int, k: int, *, trials_up_to: int = 1) -> Case:
    """Random case in which at least one asked question has a valid verdict."""
    rng = np.random.default_rng(seed)
    calibration = tried.calibration(N, rng)
    trials = rng.integers(0, trials_up_to + 1, size=N)
    passes = rng.binomial(trials, rng.uniform(0, 1))
    weights = None
    asked = rng.permutation(N) < k
    if isinstance(tried.method, FixedMethod):
        subset = tried.method.choose(calibration.rasch, "bank", k, rng=rng)
        weights = aligned_weights(calibration.rasch, subset)
        asked = weights > 0
    first = int(np.flatnonzero(asked)[0])
    trials[first] = max(trials[first], 1)
    return Case(calibration=calibration, passes=passes, trials=trials, asked=asked, weights=weights)


cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, N), st.integers(1, 3))


def test_names_are_distinct_and_described() -> None:
    names = [name for method in METHODS for name in (method.name, *method.aliases)]
    assert len(set(names)) == len(names)
    assert all(method.description.endswith(".") for method in METHODS)
    assert all(method.source for method in METHODS)
    for method in METHODS:
        assert all(method_named(name) is method for name in (method.name, *method.aliases))


def test_live_methods_are_those_of_the_registry_that_can_estimate_a_run() -> None:
    assert {method.name for method in live_methods()} == {
        method.name for method in METHODS if hasattr(method, "score")
    }


@every_method
@settings(max_examples=60, deadline=None)
@given(parts=cases, which=st.integers(0, 2))
def test_estimate_is_inside_its_interval_and_the_feasible_range(
    tried: Tried, parts: tuple[int, int, int], which: int
) -> None:
    seed, k, n_trials = parts
    case = make_case(tried, seed, k, trials_up_to=n_trials)
    estimate = case.estimate(tried, SCALES[which])
    seen = case.asked & (case.trials > 0)
    inside = seen if case.asked.all() else np.ones(N, dtype=bool)
    low = (case.passes[seen] / case.trials[seen]).sum() / inside.sum()
    high = low + (inside.sum() - seen.sum()) / inside.sum()
    tiny = 1e-12
    assert 0 <= estimate.low <= estimate.pass_rate <= estimate.high <= 1
    assert low - tiny <= estimate.low
    assert estimate.high <= high + tiny
    assert 0 <= estimate.rerun_low <= estimate.rerun_high <= 1
    assert estimate.n_asked == case.asked.sum()
    assert estimate.n_valid == seen.sum()
    assert estimate.method == tried.method.name
    assert (Flag.PROVISIONAL_INTERVAL in estimate.flags) == (which < 2 and high > low)


@every_method
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_trials=st.integers(1, 3))
def test_full_budget_is_the_observed_rate_exactly(tried: Tried, seed: int, n_trials: int) -> None:
    case = make_case(tried, seed, N, trials_up_to=n_trials)
    estimate = case.estimate(tried)
    observed = make_matrix([case.passes], [case.trials]).pass_rates()[0]
    assert estimate.low == estimate.pass_rate == estimate.high == observed


@every_method
def test_full_budget_needs_no_residuals_and_no_model_but_the_rasch_model(tried: Tried) -> None:
    calibration = Calibration(rasch=make_model(np.zeros(4), ability=(-3.0, 3.0)))
    evidence = gather_evidence(calibration, np.array([[1, 0, 1, 1]]), np.ones((1, 4), dtype=int))
    estimate = estimate_score(tried.method, evidence)
    assert (estimate.pass_rate, estimate.low, estimate.high) == (0.75, 0.75, 0.75)
    assert estimate.flags == ()


@every_monotone_method
@settings(max_examples=60, deadline=None)
@given(parts=cases, data=st.data())
def test_one_added_pass_never_lowers_the_estimate(
    tried: Tried, parts: tuple[int, int, int], data: st.DataObject
) -> None:
    seed, k, n_trials = parts
    case = make_case(tried, seed, k, trials_up_to=n_trials)
    before = case.estimate(tried).pass_rate
    j = data.draw(st.sampled_from(np.flatnonzero(case.asked).tolist()))
    passes, trials = case.passes.copy(), case.trials.copy()
    if data.draw(st.booleans()) and passes[j] < trials[j]:
        passes[j] += 1  # a fail becomes a pass
    else:
        passes[j] += 1
        trials[j] += 1
    after = dataclasses.replace(case, passes=passes, trials=trials).estimate(tried).pass_rate
    assert after >= before - 1e-12


@every_method
@settings(max_examples=30, deadline=None)
@given(parts=cases)
def test_order_of_questions_is_irrelevant(tried: Tried, parts: tuple[int, int, int]) -> None:
    seed, k, n_trials = parts
    case = make_case(tried, seed, k, trials_up_to=n_trials)
    order = np.random.default_rng(seed).permutation(N)
    moved = Case(
        calibration=shuffled(case.calibration, order),
        passes=case.passes[order],
        trials=case.trials[order],
        asked=case.asked[order],
        weights=None if case.weights is None else case.weights[order],
    )
    a, b = case.estimate(tried), moved.estimate(tried)
    assert b.pass_rate == pytest.approx(a.pass_rate, abs=1e-12)
    assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=1e-12)
    assert b.model_fingerprint == a.model_fingerprint


@every_method
@settings(max_examples=30, deadline=None)
@given(parts=cases)
def test_verdicts_outside_the_asked_questions_change_nothing(
    tried: Tried, parts: tuple[int, int, int]
) -> None:
    seed, k, n_trials = parts
    case = make_case(tried, seed, k, trials_up_to=n_trials)
    more = np.where(case.asked, case.trials, 1)
    passes = np.where(case.asked, case.passes, 1)
    full = dataclasses.replace(case, passes=passes, trials=more)
    a, b = case.estimate(tried), full.estimate(tried)
    assert (a.pass_rate, a.low, a.high, a.n_valid) == (b.pass_rate, b.low, b.high, b.n_valid)


@every_method
def test_runs_are_scored_one_by_one(tried: Tried) -> None:
    """Scores of several runs together are those of each run alone."""
    case = make_case(tried, 6, 5)
    rng = np.random.default_rng(7)
    trials = (rng.random((4, N)) < 0.8).astype(int)
    passes = rng.binomial(trials, 0.6)
    selection = {"weights": case.weights} if tried.fixed else {"asked": case.asked}
    together = tried.method.score(gather_evidence(case.calibration, passes, trials, **selection))
    for row in range(4):
        one = slice(row, row + 1)
        alone = tried.method.score(
            gather_evidence(case.calibration, passes[one], trials[one], **selection)
        )
        for name in ("pass_rate", "model_sd", "rerun_variance"):
            np.testing.assert_allclose(
                getattr(alone, name)[0], getattr(together, name)[row], rtol=1e-12, err_msg=name
            )
        assert alone.ability[0].n_observed == together.ability[row].n_observed


@every_fixed_method
def test_choosing_is_deterministic_and_exact(tried: Tried) -> None:
    model, method = make_model(np.zeros(N)), tried.method
    for k in (1, 5, N):
        first, second = (
            method.choose(model, "bank", k, rng=np.random.default_rng(4)) for _ in range(2)
        )
        assert first.sha256 == second.sha256
        assert first.design == method.design
        assert len(set(first.question_ids)) == first.k == k
        assert set(first.question_ids) <= set(model.question_ids)
        assert list(first.question_ids) == sorted(first.question_ids)
    for k in (0, N + 1):
        with pytest.raises(InputError, match="between 1 and"):
            method.choose(model, "bank", k, rng=np.random.default_rng(4))


@every_fixed_method
def test_a_fixed_method_needs_the_subset_that_was_asked(tried: Tried) -> None:
    case = dataclasses.replace(make_case(tried, 1, 4), weights=None)
    with pytest.raises(InputError, match="needs the subset that was asked"):
        case.estimate(tried)


@every_method
def test_a_run_without_valid_verdicts_is_refused(tried: Tried) -> None:
    case = make_case(tried, 1, 4)
    empty = dataclasses.replace(case, passes=np.zeros(N, dtype=int), trials=np.zeros(N, dtype=int))
    with pytest.raises(InputError, match="none of the"):
        empty.estimate(tried)


@every_method
@pytest.mark.parametrize("outcome", [0, 1])
def test_all_pass_and_all_fail_are_finite(tried: Tried, outcome: int) -> None:
    case = make_case(tried, 2, 5)
    trials = np.ones(N, dtype=int)
    estimate = dataclasses.replace(case, passes=trials * outcome, trials=trials).estimate(tried)
    assert estimate.theta is not None
    assert np.isfinite(estimate.theta.theta).all()
    assert np.isfinite([estimate.low, estimate.pass_rate, estimate.high]).all()
    assert Flag.EXTRAPOLATING in estimate.flags
