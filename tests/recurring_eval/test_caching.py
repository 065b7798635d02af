"""Historical caching against worked example M and exact integer comparisons."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest

from recurring_eval.caching import build_cache, cache_score, window_rows
from recurring_eval.response_matrix import ResponseMatrix
from tests.response_matrices import make_matrix


def window_of(passes: list[int], n: int) -> ResponseMatrix:
    """n runs in which question j passes `passes[j]` times."""
    return make_matrix([[int(i < s) for s in passes] for i in range(n)])


def test_worked_example_m() -> None:
    cache = build_cache(window_of([10, 9, 5, 0, 1, 6], 10), epsilon=0.1)
    assert np.flatnonzero(cache.cached).tolist() == [0, 1, 3, 4]
    assert (~cache.cached).mean() == pytest.approx(1 / 3)
    passes = np.array([0, 0, 1, 0, 0, 1])
    trials = np.array([0, 0, 1, 0, 0, 1])
    assert float(cache_score(cache, passes, trials)) == pytest.approx(0.666667, abs=1e-6)
    by_rate = cache_score(cache, passes, trials, use="rate")
    assert float(by_rate) == pytest.approx((1 + 0.9 + 1 + 0 + 0.1 + 1) / 6)


def test_verdicts_on_cached_questions_are_ignored_and_missing_ones_left_out() -> None:
    cache = build_cache(window_of([10, 5, 5], 10))
    passes, trials = np.array([[0, 1, 0], [0, 1, 0]]), np.array([[1, 1, 1], [1, 2, 0]])
    np.testing.assert_allclose(cache_score(cache, passes, trials), [2 / 3, 1.5 / 2])
    population = np.array([False, True, False])
    np.testing.assert_allclose(cache_score(cache, passes, trials, population=population), [1, 0.5])


@pytest.mark.parametrize(
    ("epsilon", "passes", "n", "settled"),
    [
        (0.3, 7, 10, True),  # 1 - .7 <= .3 is False in doubles
        (0.3, 3, 10, True),
        (0.29, 29, 100, True),  # .29 * 100 is 28.999999999999996
        (0.29, 30, 100, False),
        (0.07, 7, 100, True),
        (0.05, 19, 20, True),
        (0.05, 18, 20, False),
        (0.0, 20, 20, True),
        (0.5, 10, 20, True),
    ],
)
def test_counts_are_compared_exactly(epsilon: float, passes: int, n: int, settled: bool) -> None:
    assert bool(build_cache(window_of([passes], n), epsilon=epsilon).cached[0]) is settled


def test_five_trials_are_needed() -> None:
    passes = np.zeros((5, 2), dtype=int)
    trials = np.ones((5, 2), dtype=int)
    trials[0, 1] = 0
    assert build_cache(make_matrix(passes, trials)).cached.tolist() == [True, False]
    assert build_cache(make_matrix(passes, 5 * trials), min_trials=25).cached.tolist() == [
        True,
        False,
    ]


def test_a_tie_counts_as_a_pass() -> None:
    cache = build_cache(window_of([5], 10), epsilon=0.5)
    assert cache.values("majority").tolist() == [1.0]


def test_an_empty_window_settles_nothing() -> None:
    empty = make_matrix(np.zeros((1, 3), dtype=int)).select_runs(slice(0, 0))
    cache = build_cache(empty)
    assert not cache.cached.any()
    assert np.isnan(cache_score(cache, np.zeros(3, dtype=int), np.zeros(3, dtype=int)))


def test_window_is_strictly_earlier_utc_days() -> None:
    day = date(2026, 3, 10)
    midnight = datetime(2026, 3, 10, tzinfo=UTC)
    starts = [
        midnight,
        midnight - timedelta(seconds=1),
        midnight - timedelta(days=7),
        midnight - timedelta(days=7, seconds=1),
        # Already the 10th in the east, still the 9th in UTC.
        datetime(2026, 3, 10, 1, tzinfo=timezone(timedelta(hours=9))),
    ]
    matrix = make_matrix(np.zeros((5, 1), dtype=int))
    matrix = ResponseMatrix(
        passes=matrix.passes,
        trials=matrix.trials,
        run_ids=matrix.run_ids,
        question_ids=matrix.question_ids,
        started_at=tuple(starts),
        agents=matrix.agents,
    )
    assert window_rows(matrix, day).tolist() == [1, 2, 4]
