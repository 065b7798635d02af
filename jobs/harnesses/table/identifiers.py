"""Ids of runs and questions as text, and numbers of trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.log_values import check_id
from jobs.harnesses.run_builder import MOST_TRIALS
from jobs.harnesses.table.columns import Column, RawTable, normalised
from jobs.harnesses.table.verdict_words import says_yes
from recurring_eval.errors import InputError

_ALWAYS_RANKED: Final = ("seed", "k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """An id per row.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_rows,)
    names : list of str
        Distinct ids, exactly as the file writes them.
    """

    codes: NDArray[np.int32]
    names: list[str]


class SharedNames:
    """Names of the questions of runs: most runs have the same, so they share one tuple."""

    def __init__(self, questions: Sequence[str]) -> None:
        self._names = np.array(questions, dtype=object)
        self._known: dict[bytes, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def of(self, codes: NDArray[np.int32]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names, and as many empty content hashes."""
        key = codes.tobytes()
        if key not in self._known:
            self._known[key] = tuple(self._names[codes].tolist()), ("",) * len(codes)
        return self._known[key]


def read_keys(table: RawTable, column: Column, meaning: str) -> Keys:
    """Read a column of ids.

    Raises
    ------
    InputError
        Naming the line of an empty id, of one that is a fraction (a number
        damaged on its way), or of two that differ only in type.
    """
    empty = np.flatnonzero(column.codes < 0)
    if empty.size:
        raise InputError(_no_id(table, int(empty[0]), column, meaning))
    names: dict[str, None] = {}
    for code, value in enumerate(column.scalars()):
        name = value.isoformat() if isinstance(value, date) else str(value)
        problem = _problem(value, meaning)
        if problem is None and name in names:
            problem = f"{name!r} occurs both as a number and as text; write the ids in one way"
        if problem is not None:
            row = column.first_row(code)
            if isinstance(value, str) and not value.strip():
                raise InputError(_no_id(table, row, column, meaning))
            raise InputError(f"{table.place(row)}, column `{column.name}`: {problem}")
        names[name] = None
    return Keys(codes=column.codes, names=list(names))


def _problem(value: object, meaning: str) -> str | None:
    """Problem of an id; None if it can be stored and shown."""
    if isinstance(value, str):
        try:
            check_id(value)
        except InputError as error:
            return str(error)
    elif isinstance(value, bool) or not isinstance(value, int | date):
        kind = type(value).__name__
        return f"{value!r} is a {kind}, not the id of a {meaning}; write ids as text"
    return None


def _no_id(table: RawTable, row: int, column: Column, meaning: str) -> str:
    return f"{table.place(row)} has no {meaning} in column `{column.name}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What the values of a whole file mean together, where a part of its rows is at hand.

    Attributes
    ----------
    has_trials : bool
        Whether any cell of the trial column has a trial.
    is_whole : bool
        Whether all trials are whole numbers.
    low, high : int
        Smallest and largest of them.
    says_yes : bool
        Whether verdicts are written as ``Y``, so that ``N`` means no.
    """

    has_trials: bool
    is_whole: bool
    low: int
    high: int
    says_yes: bool

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> "FileFacts":
        """Facts of all rows, or of a part of them."""
        values = columns["trial"].scalars() if "trial" in columns else []
        filled = [value for value in values if _is_filled(value)]
        whole = [number for value in filled if (number := _whole(value)) is not None]
        return cls(
            has_trials=bool(filled),
            is_whole=len(whole) == len(filled),
            low=min(whole, default=MOST_TRIALS),
            high=max(whole, default=0),
            says_yes=says_yes(columns["verdict"]),
        )

    def __or__(self, other: "FileFacts") -> "FileFacts":
        return FileFacts(
            has_trials=self.has_trials or other.has_trials,
            is_whole=self.is_whole and other.is_whole,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            says_yes=self.says_yes or other.says_yes,
        )

    def counts_trials(self, column: Column) -> bool:
        """Whether the values of the trial column count trials, rather than name them."""
        return (
            self.is_whole
            and self.low >= 0
            and self.high <= MOST_TRIALS
            and normalised(column.name) not in _ALWAYS_RANKED
        )


def read_trials(
    table: RawTable, column: Column | None, cell: NDArray[np.int64], *, facts: FileFacts
) -> tuple[NDArray[np.int16], list[str]]:
    """Find the number of each row's trial, from 1.

    A count is kept (from 0, it is moved up by one); seeds and other labels are
    numbered in the order of their values for each question of a run.

    Parameters
    ----------
    table : RawTable
    column : Column or None
    cell : ndarray of int64, shape (n_rows,)
        Same number for rows of the same run and question.
    facts : FileFacts
        Of the whole file, of which `table` may be a part.

    Raises
    ------
    InputError
        Naming the line without a trial, or if there are too many.
    """
    if column is None or not facts.has_trials:
        return np.ones(len(cell), dtype=np.int16), []
    values = column.scalars()
    filled = np.array([_is_filled(value) for value in values] + [False])
    empty = np.flatnonzero(~filled[column.codes])
    if empty.size:
        raise InputError(f"{table.place(int(empty[0]))} has no trial in column `{column.name}`")
    numbers = [_whole(value) for value in values]
    if facts.counts_trials(column):
        counts = [number for number in numbers if number is not None]
        first = 1 if facts.low == 0 else 0
        lookup = np.array(counts, dtype=np.int16) + np.int16(first)
        notes = [f"`{column.name}` counts from 0; stored from 1"] if first else []
        return lookup[column.codes], notes
    ranks = _ranks(values, numbers)[column.codes]
    trial = _rank_within(cell, ranks, len(values))
    return trial, [
        f"trials are numbered in the order of `{column.name}`"
    ] if trial.max() > 1 else []


def _is_filled(value: object) -> bool:
    return value is not None and value == value and bool(str(value).strip())  # NaN


def _whole(value: object) -> int | None:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        if number.is_integer():
            return int(number)
    return None


def _ranks(values: list[object], numbers: list[int | None]) -> NDArray[np.int64]:
    keys = [
        (number is None, number or 0, str(value))
        for value, number in zip(values, numbers, strict=True)
    ]
    order = sorted(range(len(values)), key=keys.__getitem__)
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def _rank_within(
    cell: NDArray[np.int64], ranks: NDArray[np.int64], n_values: int
) -> NDArray[np.int16]:
    pairs, inverse = np.unique(cell * n_values + ranks, return_inverse=True)
    cells = pairs // n_values
    trial = np.arange(len(pairs)) - np.searchsorted(cells, cells, side="left") + 1
    if trial.max() > MOST_TRIALS:
        raise InputError(f"a question has more than {MOST_TRIALS} trials in one run")
    return np.asarray(trial, dtype=np.int16)[inverse]
