"""Which full runs calibrate a night, against plain filters."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from jobs.nights.history import choose_window, end_of
from recurring_eval.records import Run, RunKind, RunPurpose

DAY = date(2025, 3, 31)
MIDNIGHT = datetime(2025, 4, 1, tzinfo=UTC)


def run(hours_before: float, *, kind: RunKind = RunKind.FULL, n_valid: int = 10) -> Run:
    """A run that started this long before the end of the day."""
    started = MIDNIGHT - timedelta(hours=hours_before)
    return Run(
        run_id=int(10 * hours_before) + 10_000,
        run_key=f"run-{hours_before:g}",
        benchmark="b",
        agent="a",
        agent_config="",
        agent_family="main",
        purpose=RunPurpose.ROUTINE,
        kind=kind,
        subset_id=None,
        session_id=None,
        started_at=started,
        finished_at=None,
        imported_at=MIDNIGHT,
        harness="table",
        tags=(),
        n_verdicts=10,
        n_valid=n_valid,
        n_missing=0,
        pass_rate=0.5,
        bank_version="v",
        bank_size=10,
    )


def in_order(*runs: Run) -> list[Run]:
    return sorted(runs, key=lambda r: r.started_at)


def keys(runs: tuple[Run, ...]) -> list[str]:
    return [r.run_key for r in runs]


def test_the_day_ends_at_the_next_midnight_utc():
    assert end_of(DAY) == MIDNIGHT


def test_a_window_holds_its_first_instant_and_not_the_next_day():
    runs = in_order(run(0), run(0.1), run(48), run(48.1))
    window = choose_window(runs, DAY, n_days=2, minimum_runs=0)
    assert keys(window.runs) == ["run-48", "run-0.1"]
    assert not window.stretched


def test_all_takes_the_whole_past():
    runs = in_order(run(-1), run(1), run(24 * 900))
    window = choose_window(runs, DAY, n_days=None, minimum_runs=50)
    assert keys(window.runs) == ["run-21600", "run-1"]
    assert not window.stretched


def test_a_short_window_is_stretched_to_the_minimum_of_usable_runs():
    runs = in_order(*(run(24.0 * days + 1) for days in range(10)), run(100, n_valid=7))
    window = choose_window(runs, DAY, n_days=2, minimum_runs=5)
    assert keys(window.runs) == [f"run-{24 * days + 1}" for days in (4, 3, 2, 1, 0)]
    assert window.stretched
    # The under-covered run lies between the stretched start (97 h) and the one before it.
    assert window.under_covered == ()
    longer = choose_window(runs, DAY, n_days=2, minimum_runs=6)
    assert keys(longer.under_covered) == ["run-100"]


def test_partial_and_under_covered_runs_do_not_calibrate():
    runs = in_order(
        run(1, kind=RunKind.PARTIAL, n_valid=3),
        run(2, kind=RunKind.ADAPTIVE, n_valid=3),
        run(3, n_valid=8),
        run(4, n_valid=7),
    )
    window = choose_window(runs, DAY, n_days=28, minimum_runs=1)
    assert keys(window.runs) == ["run-3"]
    assert keys(window.under_covered) == ["run-4"]


@pytest.mark.parametrize("seed", range(20))
def test_against_brute_force(seed: int):
    rng = np.random.default_rng(seed)
    hours = np.unique(rng.integers(-48, 24 * 12, size=rng.integers(0, 25)))
    runs = in_order(*(run(float(h), n_valid=int(rng.choice([5, 10]))) for h in hours))
    n_days, minimum = int(rng.integers(1, 10)), int(rng.integers(1, 8))
    window = choose_window(runs, DAY, n_days=n_days, minimum_runs=minimum)
    usable = [r for r in runs if r.started_at < MIDNIGHT and r.n_valid == 10]
    start = MIDNIGHT - timedelta(days=n_days)
    inside = [r for r in usable if r.started_at >= start]
    expected = inside if len(inside) >= minimum else usable[-minimum:]
    assert list(window.runs) == expected
    assert window.stretched == (len(expected) > len(inside))
