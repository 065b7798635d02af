"""Which full runs calibrate a night."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from recurring_eval.records import Run, RunKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationWindow:
    """Full runs of one family that calibrate one date.

    Attributes
    ----------
    runs : tuple of Run
        In order of start, then key.
    under_covered : tuple of Run
        Full runs of the window kept out because too few verdicts are valid.
    stretched : bool
        Whether the window was stretched back to hold the minimum of runs.
    """

    runs: tuple[Run, ...]
    under_covered: tuple[Run, ...]
    stretched: bool


def end_of(day: date) -> datetime:
    """First instant after a UTC date."""
    return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC)


def choose_window(
    runs: Sequence[Run], day: date, *, n_days: int | None, minimum_runs: int
) -> CalibrationWindow:
    """Take the full runs of the last days up to and with a date.

    Parameters
    ----------
    runs : sequence of Run
        Runs of one benchmark and family, in order of start.
    day : date
        UTC date the calibration is keyed by; its own runs count.
    n_days : int or None
        Days of the window; None for the whole history.
    minimum_runs : int
        A shorter window is stretched back until it holds this many usable runs.
    """
    before = [run for run in runs if run.kind is RunKind.FULL and run.started_at < end_of(day)]
    usable = [run for run in before if not run.under_covered]
    first = None if n_days is None else end_of(day) - timedelta(days=n_days)
    n_inside = sum(first is None or run.started_at >= first for run in usable)
    n_taken = min(len(usable), max(n_inside, minimum_runs))
    taken = usable[len(usable) - n_taken :]
    stretched = n_taken > n_inside
    since = taken[0].started_at if stretched else first
    return CalibrationWindow(
        runs=tuple(taken),
        under_covered=tuple(
            run
            for run in before
            if run.under_covered and (since is None or run.started_at >= since)
        ),
        stretched=stretched,
    )
