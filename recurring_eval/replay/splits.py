"""Budgets as a user writes them: a number of questions or a share of the bank."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError

_COUNT: Final = re.compile(r"[0-9]{1,9}")
_PERCENTAGE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})\s*%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A budget and how it was written.

    Attributes
    ----------
    text : str
        As the user wrote it; rows of a replay echo it.
    count : int or None
        Number of questions.
    share : Fraction or None
        Exact share of the bank, in place of a number.
    """

    text: str
    count: int | None
    share: Fraction | None

    def size(self, n_questions: int) -> int:
        """Turn it into questions of a bank, 1 to all; a half goes to the even number."""
        wanted = self.count if self.count is not None else round((self.share or 0) * n_questions)
        return min(max(wanted, 1), n_questions)


def parse_budget(text: str) -> Budget:
    """Read ``100`` or ``10%``.

    Raises
    ------
    InputError
        For anything else, for 0 and for more than 100 %.
    """
    written = text.strip()
    if _COUNT.fullmatch(written) and int(written) > 0:
        return Budget(text=written, count=int(written), share=None)
    match = _PERCENTAGE.fullmatch(written)
    if match is not None and 0 < Fraction(match[1]) <= 100:
        return Budget(text=written, count=None, share=Fraction(match[1]) / 100)
    raise InputError(
        f"budget {text!r} is neither a number of questions such as 100 nor a share such as 10%"
    )


def parse_budgets(text: str) -> tuple[Budget, ...]:
    """Read budgets separated by commas.

    Raises
    ------
    InputError
        If one cannot be read or is there twice.
    """
    budgets = tuple(parse_budget(part) for part in text.split(",") if part.strip())
    if not budgets:
        raise InputError("no budget is given; write for example 10%,100")
    written = [budget.text for budget in budgets]
    for budget in written:
        if written.count(budget) > 1:
            raise InputError(f"budget {budget} is there twice; give it once")
    return budgets


def distinct_sizes(budgets: Sequence[Budget], n_questions: int) -> tuple[int, ...]:
    """Numbers of questions the budgets come to, in ascending order."""
    return tuple(sorted({budget.size(n_questions) for budget in budgets}))


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


EVERYONE = ""
"""Name of the only group of a protocol that does not tell groups apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Runs a method is prepared on, and runs it is then tested on.

    Attributes
    ----------
    source, targets : ndarray of intp
        Rows of the response matrix, without a common one.
    """

    source: NDArray[np.intp]
    targets: NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One division of the runs; every run is a target of one fold at most.

    Attributes
    ----------
    number : int
        Position among the splits of a plan.
    folds : tuple of Fold
    groups : mapping of str to ndarray of intp
        Targets whose metrics are taken together, by name: `EVERYONE`, an agent family or a
        calibration window. Groups of one name are averaged over the splits.
    """

    number: int
    folds: tuple[Fold, ...]
    groups: Mapping[str, NDArray[np.intp]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every split of one replay.

    Attributes
    ----------
    protocol : str
    splits : tuple of Split
    by_agent : bool
        Whether agents, and not runs, are what a paired comparison may resample.
    """

    protocol: str
    splits: tuple[Split, ...]
    by_agent: bool = False

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups, in order of first appearance."""
        names = [name for split in self.splits for name in split.groups]
        return tuple(dict.fromkeys(names))
