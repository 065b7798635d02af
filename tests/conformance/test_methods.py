"""What every registered method must do, whatever it chooses and estimates."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recurring_eval.caching import Cache, build_cache
from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.estimators import GpirtConstants
from recurring_eval.hspr import AVERAGE, HsprCalibration, fit_sources
from recurring_eval.intervals import ConformalScale
from recurring_eval.methods import METHODS, Method, estimate_score
from recurring_eval.records import Flag, ScoreEstimate, Subset
from tests.rasch_models import make_model
from tests.response_matrices import make_matrix

every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
# How many questions a cache leaves to ask is an outcome; adaptive methods choose step by step.
every_choosing_method = pytest.mark.parametrize(
    "method",
    [method for method in METHODS if method.choose is not None],
    ids=lambda method: method.name,
)

# Several abilities let one pass speak against passes of unlike questions.
every_monotone_method = pytest.mark.parametrize(
    "method",
    [method for method in METHODS if not method.adaptive],
    ids=lambda method: method.name,
)

N = 12
GPIRT = GpirtConstants(outcome_variance=0.2, irt_bias=0.03)
SCALES = (
    ConformalScale(residuals=np.empty(0), model_sd=np.empty(0)),
    ConformalScale(residuals=np.full(5, 0.08), model_sd=np.full(5, 0.02)),
    ConformalScale(residuals=np.linspace(-0.2, 0.3, 30), model_sd=np.full(30, 0.05)),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A calibration, a selection of its questions and a run's verdicts."""

    model: RaschModel
    subset: Subset | None
    cache: Cache | None
    passes: NDArray[np.int64]
    trials: NDArray[np.int64]
    step_by_step: NDArray[np.bool_] | None = None
    hspr: HsprCalibration | None = None

    @property
    def asked(self) -> NDArray[np.bool_]:
        if self.step_by_step is not None:
            return self.step_by_step
        if self.cache is not None:
            return ~self.cache.cached
        chosen = () if self.subset is None else self.subset.question_ids
        return np.array([q in chosen for q in self.model.question_ids])

    def estimate(self, method: Method, scale: ConformalScale = SCALES[2]) -> ScoreEstimate:
        return estimate_score(
            method=method,
            model=self.model,
            passes=self.passes,
            trials=self.trials,
            subset=self.subset,
            asked=self.step_by_step,
            gpirt=GPIRT,
            cache=self.cache,
            hspr=self.hspr,
            scale=scale,
        )


def make_case(method: Method, seed: int, k: int, *, trials_up_to: int = 1) -> Case:
    """Random case in which at least one asked question has a valid verdict."""
    rng = np.random.default_rng(seed)
    model = make_model(np.round(rng.normal(0, 1.5, size=N), 1), ability=rng.normal(size=5))
    trials = rng.integers(0, trials_up_to + 1, size=N)
    passes = rng.binomial(trials, rng.uniform(0, 1))
    cache = subset = step_by_step = hspr = None
    if method.needs_hspr:
        step_by_step = rng.permutation(N) < k
        hspr = sources_of(model, rng)
    elif method.choose is None:
        rates = rng.choice([0.0, 0.5, 1.0], size=N)
        rates[0] = 0.5
        window = make_matrix([[int(i < 10 * rate) for rate in rates] for i in range(10)])
        cache = build_cache(window)
    else:
        subset = method.choose(model, "bank", k, rng=rng)
    case = Case(
        model=model,
        subset=subset,
        cache=cache,
        passes=passes,
        trials=trials,
        step_by_step=step_by_step,
        hspr=hspr,
    )
    first = int(np.flatnonzero(case.asked)[0])
    trials[first] = max(trials[first], 1)
    return case


def sources_of(model: RaschModel, rng: np.random.Generator) -> HsprCalibration:
    """Five sources of which none passed everything or nothing."""
    verdicts = (rng.random((5, N)) < rng.uniform(0.3, 0.7, size=N)).astype(int)
    verdicts[:, :2] = (0, 1)
    matrix = make_matrix(verdicts)
    config = dataclasses.replace(AVERAGE, n_nodes=256, path_nodes=64)
    return HsprCalibration(model=fit_sources(matrix), config=config)


cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, N), st.integers(1, 3))


def test_names_are_distinct_and_described() -> None:
    assert len({method.name for method in METHODS}) == len(METHODS)
    assert all(method.description.endswith(".") for method in METHODS)


@every_method
@settings(max_examples=60, deadline=None)
@given(parts=cases, which=st.integers(0, 2))
def test_estimate_is_inside_its_interval_and_the_feasible_range(
    method: Method, parts: tuple[int, int, int], which: int
) -> None:
    seed, k, n_trials = parts
    case = make_case(method, seed, k, trials_up_to=n_trials)
    estimate = case.estimate(method, SCALES[which])
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
    assert (Flag.PROVISIONAL_INTERVAL in estimate.flags) == (which < 2 and high > low)


@every_method
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_trials=st.integers(1, 3))
def test_full_budget_is_the_observed_rate_exactly(method: Method, seed: int, n_trials: int) -> None:
    case = make_case(method, seed, N, trials_up_to=n_trials)
    if method.needs_cache:
        nothing_settled = build_cache(make_matrix(np.eye(N, dtype=int)[:2]), min_trials=3)
        case = dataclasses.replace(case, cache=nothing_settled)
    estimate = case.estimate(method)
    observed = make_matrix([case.passes], [case.trials]).pass_rates()[0]
    assert estimate.low == estimate.pass_rate == estimate.high == observed


@every_choosing_method
def test_full_budget_needs_no_residuals_or_constants(method: Method) -> None:
    model = make_model(np.zeros(4), ability=(-3.0, 3.0))
    estimate = estimate_score(method=method, model=model, passes=[1, 0, 1, 1], trials=[1, 1, 1, 1])
    assert (estimate.pass_rate, estimate.low, estimate.high) == (0.75, 0.75, 0.75)
    assert estimate.flags == ()


@every_monotone_method
@settings(max_examples=60, deadline=None)
@given(parts=cases, data=st.data())
def test_one_added_pass_never_lowers_the_estimate(
    method: Method, parts: tuple[int, int, int], data: st.DataObject
) -> None:
    seed, k, n_trials = parts
    case = make_case(method, seed, k, trials_up_to=n_trials)
    before = case.estimate(method).pass_rate
    j = data.draw(st.sampled_from(np.flatnonzero(case.asked).tolist()))
    passes, trials = case.passes.copy(), case.trials.copy()
    if data.draw(st.booleans()) and passes[j] < trials[j]:
        passes[j] += 1  # a fail becomes a pass
    else:
        passes[j] += 1
        trials[j] += 1
    after = dataclasses.replace(case, passes=passes, trials=trials).estimate(method).pass_rate
    # A missing answer of a cache method was left out of the mean, so its pass counts too.
    assert after >= before - 1e-12


def shuffled_sources(hspr: HsprCalibration, order: NDArray[np.int64]) -> HsprCalibration:
    model = dataclasses.replace(
        hspr.model,
        question_ids=tuple(hspr.model.question_ids[j] for j in order),
        group_of_question=hspr.model.group_of_question[order],
    )
    return dataclasses.replace(hspr, model=model)


@every_method
@settings(max_examples=30, deadline=None)
@given(parts=cases)
def test_order_of_questions_is_irrelevant(method: Method, parts: tuple[int, int, int]) -> None:
    seed, k, n_trials = parts
    case = make_case(method, seed, k, trials_up_to=n_trials)
    order = np.random.default_rng(seed).permutation(N)
    names = tuple(case.model.question_ids[j] for j in order)
    model = dataclasses.replace(
        case.model,
        question_ids=names,
        difficulty=case.model.difficulty[order],
        n_responses=case.model.n_responses[order],
    )
    cache = case.cache and Cache(
        question_ids=names,
        passes=case.cache.passes[order],
        n_trials=case.cache.n_trials[order],
        cached=case.cache.cached[order],
        epsilon=case.cache.epsilon,
        min_trials=case.cache.min_trials,
    )
    shuffled = dataclasses.replace(
        case,
        model=model,
        cache=cache,
        passes=case.passes[order],
        trials=case.trials[order],
        step_by_step=None if case.step_by_step is None else case.step_by_step[order],
        hspr=case.hspr and shuffled_sources(case.hspr, order),
    )
    a, b = case.estimate(method), shuffled.estimate(method)
    assert b.pass_rate == pytest.approx(a.pass_rate, abs=1e-12)
    assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=1e-12)
    assert b.model_fingerprint == a.model_fingerprint


@every_method
@settings(max_examples=30, deadline=None)
@given(parts=cases)
def test_verdicts_outside_the_asked_questions_change_nothing(
    method: Method, parts: tuple[int, int, int]
) -> None:
    seed, k, n_trials = parts
    case = make_case(method, seed, k, trials_up_to=n_trials)
    more = np.where(case.asked, case.trials, 1)
    passes = np.where(case.asked, case.passes, 1)
    full = dataclasses.replace(case, passes=passes, trials=more)
    a, b = case.estimate(method), full.estimate(method)
    assert (a.pass_rate, a.low, a.high, a.n_valid) == (b.pass_rate, b.low, b.high, b.n_valid)


@every_choosing_method
def test_choosing_is_deterministic_and_exact(method: Method) -> None:
    model = make_model(np.zeros(N))
    for k in (1, 5, N):
        first, second = (
            method.choose(model, "bank", k, rng=np.random.default_rng(4)) for _ in range(2)
        )
        assert first.sha256 == second.sha256
        assert len(set(first.question_ids)) == first.k == k
        assert set(first.question_ids) <= set(model.question_ids)
        assert list(first.question_ids) == sorted(first.question_ids)
    for k in (0, N + 1):
        with pytest.raises(InputError, match="between 1 and"):
            method.choose(model, "bank", k, rng=np.random.default_rng(4))


@every_method
def test_a_run_without_valid_verdicts_is_refused(method: Method) -> None:
    case = make_case(method, 1, 4)
    empty = dataclasses.replace(case, passes=np.zeros(N, dtype=int), trials=np.zeros(N, dtype=int))
    with pytest.raises(InputError, match="none of the"):
        empty.estimate(method)


@every_method
@pytest.mark.parametrize("outcome", [0, 1])
def test_all_pass_and_all_fail_are_finite(method: Method, outcome: int) -> None:
    case = make_case(method, 2, 5)
    trials = np.ones(N, dtype=int)
    estimate = dataclasses.replace(case, passes=trials * outcome, trials=trials).estimate(method)
    assert estimate.theta is not None
    assert np.isfinite(estimate.theta.theta).all()
    assert Flag.EXTRAPOLATING in estimate.flags
