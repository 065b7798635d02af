"""Nested calibration windows that end at one point."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

N_WINDOWS: Final = 10
"""Windows looked at where the user names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSpan:
    """The newest runs before a split.

    Attributes
    ----------
    name : str
        ``28d``, or ``14 runs`` where no times are known.
    n_runs : int
    """

    name: str
    n_runs: int


def spans_of_days(
    started_at: Sequence[datetime], days: Sequence[int] | None = None
) -> list[CalibrationSpan]:
    """Windows of whole UTC days that end with the last of the calibrating runs.

    Parameters
    ----------
    started_at : sequence of datetime
        Of the calibrating runs, in ascending order.
    days : sequence of int, optional
        Lengths; by default about ten, from all days down to the last, their starts evenly
        apart (the production study moved the start by three days over four weeks).

    Returns
    -------
    list of CalibrationSpan
        Longest first; a window longer than the history holds all of it.
    """
    dates = np.array([start.astimezone(UTC).date().toordinal() for start in started_at])
    if not dates.size:
        return []
    lengths = _lengths(int(dates[-1] - dates[0]) + 1) if days is None else days
    return [
        CalibrationSpan(name=f"{d}d", n_runs=int((dates > dates[-1] - d).sum()))
        for d in sorted(set(lengths), reverse=True)
    ]


def spans_of_runs(n_runs: int) -> list[CalibrationSpan]:
    """About ten windows by number of runs, the longest first."""
    return [CalibrationSpan(name=f"{n} runs", n_runs=n) for n in _lengths(n_runs)]


def _lengths(longest: int) -> list[int]:
    step = max(1, round(longest / N_WINDOWS))
    return list(range(longest, 0, -step))
