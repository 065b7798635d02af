"""What every method must do in a replay, whatever it chooses and estimates."""

import dataclasses
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest

from recurring_eval.errors import InputError
from recurring_eval.methods.registry import METHODS, Method, method_named
from recurring_eval.methods.replayed import MethodEstimates, PreparedMethod
from recurring_eval.response_matrix import ResponseMatrix
from tests.response_matrices import permuted, simulate_rasch

every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
# How many questions a cache leaves to ask is an outcome, and earlier targets feed it.
every_method_of_given_budget = pytest.mark.parametrize(
    "method",
    [method for method in METHODS if not method.budget_is_outcome],
    ids=lambda method: method.name,
)

N = 18
M_SOURCE = 14
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TINY = 1e-12


def awkward_runs(seed: int, m: int, prefix: str, *, missing: float, n_trials: int = 1):
    """Runs with constant, duplicate and, with `missing`, empty columns, a run every six hours."""
    rng = np.random.default_rng(seed)
    drawn = simulate_rasch(
        rng.normal(size=m), rng.normal(size=N), rng=rng, missing=missing, n_trials=n_trials
    )
    passes, trials = drawn.passes.copy(), drawn.trials.copy()
    passes[:, 0], passes[:, 1] = 0, trials[:, 1]
    for copy in (3, 4, 5):
        passes[:, copy], trials[:, copy] = passes[:, 2], trials[:, 2]
    if missing:
        passes[:, 6], trials[:, 6] = 0, 0
    return dataclasses.replace(
        drawn,
        passes=passes,
        trials=trials,
        run_ids=tuple(f"{prefix}{i}" for i in range(m)),
        started_at=tuple(START + timedelta(hours=6 * i) for i in range(m)),
    )


@cache
def source(missing: float = 0.0, m: int = M_SOURCE) -> ResponseMatrix:
    return awkward_runs(1, m, "source", missing=missing)


@cache
def targets(missing: float = 0.0, n_trials: int = 1) -> ResponseMatrix:
    later = awkward_runs(2, 7, "target", missing=missing, n_trials=n_trials)
    passes, trials = later.passes.copy(), later.trials.copy()
    passes[0], passes[1] = 0, trials[1]  # all fail, all pass
    shifted = tuple(start + timedelta(days=4) for start in later.started_at)
    return dataclasses.replace(later, passes=passes, started_at=shifted)


@cache
def prepared(method: Method, missing: float = 0.0) -> PreparedMethod:
    return method.prepare(source(missing), rng=np.random.default_rng(3))


def estimate(
    method: Method, runs: ResponseMatrix, k: int, *, missing: float = 0.0, seed: int = 4
) -> MethodEstimates:
    return prepared(method, missing).estimate(runs, k, rng=np.random.default_rng(seed))


def assert_same(first: MethodEstimates, second: MethodEstimates, rows: list[int]) -> None:
    for name in ("pass_rate", "n_executed", "low", "high"):
        a, b = getattr(first, name), getattr(second, name)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(np.asarray(a)[rows], b)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("stratified", "stratified+weighted"),
        ("stratified+weighted", "stratified+weighted"),
        ("random+weighted", "random"),
        ("response-kmeans+weighted", "response-kmeans"),
        ("irt-kmeans+gpirt", "irt-kmeans+gpirt"),
        ("hspr-average", "hspr"),
        ("faq", "faq"),
    ],
)
def test_methods_are_found_by_name(name: str, known: str) -> None:
    assert method_named(name).name == known


@pytest.mark.parametrize("name", ["nonsense", "cache+weighted", "atlas+weighted", ""])
def test_unknown_names_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"unknown method '.*'; known are random,.* faq, atlas"):
        method_named(name)


@every_method
@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("n_trials", [1, 3])
def test_full_budget_is_the_observed_rate_exactly(
    method: Method, missing: float, n_trials: int
) -> None:
    runs = targets(missing, n_trials)
    if method.budget_is_outcome:
        # Long after the source nothing is settled, so that everything is asked.
        late = tuple(START + timedelta(days=300 + 10 * i) for i in range(runs.n_runs))
        runs = dataclasses.replace(runs, started_at=late)
    found = estimate(method, runs, N, missing=missing)
    np.testing.assert_array_equal(found.pass_rate, runs.pass_rates())
    np.testing.assert_array_equal(found.n_executed, (runs.trials > 0).sum(axis=1))
    assert found.low is None or (found.high == found.low).all()


@every_method
@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("k", [1, 2, 5, 11, 17])
def test_estimates_are_feasible(method: Method, missing: float, k: int) -> None:
    runs = targets(missing, 2)
    found = estimate(method, runs, k, missing=missing)
    valid = (runs.trials > 0).sum(axis=1)
    known = np.isfinite(found.pass_rate)
    # Only a fixed design can fail to get an answer, where all it asks is missing.
    assert known.all() or (missing and (found.n_executed[~known] == 0).all())
    rate = found.pass_rate[known]
    assert ((rate >= 0) & (rate <= 1)).all()
    if not method.budget_is_outcome:
        assert (found.n_executed <= k).all()
        # k observed outcomes leave at most (n - k) / n of the score open.
        slack = 1 - found.n_executed / valid
        assert (np.abs(found.pass_rate - runs.pass_rates())[known] <= slack[known] + TINY).all()
    if found.low is not None:
        judged = np.isfinite(found.low) & known
        assert (found.low[judged] <= found.pass_rate[judged]).all()
        assert (found.pass_rate[judged] <= found.high[judged]).all()


@every_method_of_given_budget
@pytest.mark.parametrize("k", [1, 4, 9, 16])
def test_k_distinct_questions_are_asked(method: Method, k: int) -> None:
    """Without missing verdicts exactly k are executed, whatever is constant or duplicate."""
    assert (estimate(method, targets(), k).n_executed == k).all()


@every_method_of_given_budget
def test_only_asked_verdicts_are_used(method: Method) -> None:
    """Flipping one verdict changes an estimate by what it is worth, or not at all."""
    runs, k = targets(), 3
    before = estimate(method, runs, k)
    unchanged = 0
    for j in range(N):
        passes = runs.passes.copy()
        passes[:, j] = 1 - passes[:, j]
        after = estimate(method, dataclasses.replace(runs, passes=passes), k)
        unchanged += (after.pass_rate == before.pass_rate).astype(int)
    # At most k verdicts were read, so that the others cannot matter.
    assert (unchanged >= N - k).all()


@every_method
def test_the_order_of_rows_and_columns_is_irrelevant(method: Method) -> None:
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(7).tolist(), rng.permutation(N).tolist()
    runs = targets(0.25)
    runs_of_source = source(0.25)
    shuffled_source = permuted(
        runs_of_source,
        rng.permutation(runs_of_source.n_runs).tolist(),
        rng.permutation(N).tolist(),
    )
    again = method.prepare(shuffled_source, rng=np.random.default_rng(3))
    found = again.estimate(permuted(runs, rows, columns), 6, rng=np.random.default_rng(4))
    assert_same(estimate(method, runs, 6, missing=0.25), found, rows)


@every_method
def test_results_are_determined_by_the_generator(method: Method) -> None:
    runs, every = targets(0.25, 2), list(range(7))
    assert_same(
        estimate(method, runs, 6, missing=0.25), estimate(method, runs, 6, missing=0.25), every
    )


@every_method_of_given_budget
def test_a_target_is_estimated_from_its_own_verdicts(method: Method) -> None:
    """Other targets' verdicts do not matter."""
    runs = targets(0.25)
    passes = runs.passes.copy()
    passes[1:] = runs.trials[1:] - passes[1:]
    others_changed = dataclasses.replace(runs, passes=passes)
    first = estimate(method, runs, 6, missing=0.25).pass_rate[0]
    assert estimate(method, others_changed, 6, missing=0.25).pass_rate[0] == first


@every_method
@pytest.mark.parametrize("k", [0, N + 1])
def test_an_impossible_k_is_refused(method: Method, k: int) -> None:
    with pytest.raises(InputError, match=f"`k` is {k}"):
        estimate(method, targets(), k)


@every_method
def test_other_questions_are_refused(method: Method) -> None:
    ids = (*source().question_ids[:-1], "another")
    with pytest.raises(InputError, match="differ in 2 questions, first 'another'"):
        estimate(method, targets().align_questions(ids), 3)


def test_a_cache_is_built_from_strictly_earlier_days_and_targets_feed_the_next() -> None:
    method = method_named("cache")
    runs = targets()
    found = estimate(method, runs, 1)
    assert (found.n_executed < N).any()
    days = [start.date() for start in runs.started_at]
    last_day = [i for i, day in enumerate(days) if day == days[-1]]
    alone = estimate(method, runs.select_runs(np.array(last_day)), 1)
    # Without the earlier targets fewer runs are in the window.
    assert (alone.n_executed != found.n_executed[last_day]).any() or (
        alone.pass_rate != found.pass_rate[last_day]
    ).any()
