"""Tables in coded form: each column as its distinct values and one code per row."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recurring_eval.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table.

    Whatever must look at each value does so once per distinct value.

    Attributes
    ----------
    name : str
        As the file writes it.
    codes : ndarray of int32, shape (n_rows,)
        Row -> position in `values`; -1 where the cell is null.
    values : pyarrow.Array or tuple
        Distinct values: an Arrow array, or Python scalars where types are mixed.
    """

    name: str
    codes: NDArray[np.int32]
    values: Any

    @classmethod
    def from_arrow(cls, name: str, array: pa.ChunkedArray) -> "Column":
        """Code an Arrow column."""
        if pa.types.is_dictionary(array.type):
            column = cls._from_dictionary(name, array)
            if column is not None:
                return column
            array = array.cast(array.type.value_type)
        if pa.types.is_null(array.type):  # coded, its nulls would count as values
            array = array.cast(pa.string())
        coded = array.combine_chunks().dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        codes = pc.fill_null(coded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
        return cls(name=name, codes=codes, values=coded.dictionary)

    @classmethod
    def _from_dictionary(cls, name: str, array: pa.ChunkedArray) -> "Column | None":
        """Take over the codes of a dictionary; None if its values are not distinct."""
        coded = array.unify_dictionaries().combine_chunks()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        values = coded.dictionary
        if values.null_count or len(values.unique()) != len(values):
            return None
        old = pc.fill_null(coded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
        # Values in the order in which they are first met, those of other rows left out.
        first = np.full(len(values) + 1, len(old), dtype=np.int64)
        first[old[::-1]] = np.arange(len(old) - 1, -1, -1)
        used = np.argsort(first[:-1], kind="stable")
        used = used[first[used] < len(old)]
        new = np.full(len(values) + 1, -1, dtype=np.int32)
        new[used] = np.arange(len(used))
        return cls(name=name, codes=new[old], values=values.take(pa.array(used)))

    @classmethod
    def from_objects(cls, name: str, cells: list[object]) -> "Column":
        """Code a list of hashable Python scalars."""
        position: dict[tuple[type, object], int] = {}
        codes = np.empty(len(cells), dtype=np.int32)
        for row, cell in enumerate(cells):
            if cell is None:
                codes[row] = -1
                continue
            # The type is part of the key: True, 1 and 1.0 are equal in Python.
            key = (type(cell), cell if cell == cell else "nan")  # NaN
            codes[row] = position.setdefault(key, len(position))
        values = tuple(float("nan") if k == (float, "nan") else k[1] for k in position)
        return cls(name=name, codes=codes, values=values)

    @property
    def is_temporal(self) -> bool:
        """Whether it holds typed times, which may lie beyond what Python can show."""
        return not isinstance(self.values, tuple) and pa.types.is_temporal(self.values.type)

    def scalars(self) -> list[object]:
        """Distinct values as Python scalars."""
        values = self.values
        return list(values) if isinstance(values, tuple) else list(values.to_pylist())

    def first_row(self, code: int) -> int:
        """First row with a code."""
        return int(np.flatnonzero(self.codes == code)[0])

    def at(self, rows: NDArray[np.intp]) -> "Column":
        """Column of some rows, with the values that occur in them alone."""
        codes = self.codes[rows]
        used = np.unique(codes[codes >= 0])
        scalars = self.scalars()
        lookup = np.full(len(scalars) + 1, -1, dtype=np.int32)
        lookup[used] = np.arange(used.size)
        values = tuple(scalars[code] for code in used)
        return Column(name=self.name, codes=lookup[codes], values=values)

    def take(self, lookup: NDArray[Any], null: float) -> NDArray[Any]:
        """Value of each row in an array aligned with `values`; `null` where the cell is null."""
        padded = np.append(lookup, np.array([null], dtype=lookup.dtype))
        return padded[self.codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """The columns of a file that mean something to us, nothing interpreted yet.

    Attributes
    ----------
    columns : mapping of str to Column
        By normalised name (lower case, underscores).
    headers : tuple of str
        Every column of the file, as written.
    n_rows : int
    row_word : str
        ``line`` or ``row``: what the numbers of `row_numbers` count.
    row_numbers : ndarray of int64, shape (n_rows,)
        Number of each row in the file.
    notes : tuple of str
    """

    columns: Mapping[str, Column]
    headers: tuple[str, ...]
    n_rows: int
    row_word: str
    row_numbers: NDArray[np.int64]
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Where a row is, e.g. ``line 17``."""
        return f"{self.row_word} {self.row_numbers[row]}"


def normalised(header: str) -> str:
    """Lower case, with underscores for spaces and hyphens."""
    return "_".join(header.strip().lower().replace("-", " ").split())


NAMES: Final[dict[str, tuple[str, ...]]] = {
    "run": ("run_id", "run", "eval_id", "experiment", "build", "date"),
    # `id` last: beside another of these it is the number of a row.
    "question": (
        *("question_id", "task_id", "item_id", "instance_id", "sample_id"),
        *("test", "nodeid", "qid", "id"),
    ),
    "trial": ("trial", "attempt", "epoch", "repeat", "repetition", "seed", "k"),
    "verdict": (
        *("passed", "pass", "success", "resolved", "correct", "is_correct"),
        *("verdict", "outcome", "result", "status", "score", "reward"),
    ),
    "error": ("error", "exception", "failure_reason"),
    "status": ("status",),
    "time": ("started_at", "created_at", "timestamp", "ts", "date"),
    "finished": ("completed_at", "finished_at"),
    "duration": ("duration_s", "latency_ms", "total_time"),
    "cost": ("cost", "cost_usd"),
    "benchmark": ("benchmark", "suite"),
    "agent": ("agent",),
    "agent_version": ("agent_version",),
    "model": ("model",),
    "commit": ("commit",),
    "config_hash": ("config_hash",),
    "tags": ("tags",),
    "purpose": ("purpose",),
    "agent_family": ("agent_family",),
    "subset": ("subset_id",),
    "session": ("session_id",),
}
"""Meaning -> column names, the preferred one first."""

KNOWN: Final = frozenset(name for names in NAMES.values() for name in names)
REQUIRED: Final = ("run", "question", "verdict", "time")

_SHOWN: Final = 8
_WIDE: Final = 12


def wanted_headers(headers: list[str]) -> dict[str, int]:
    """Position of each known column by normalised name.

    Raises
    ------
    InputError
        If two columns have the same known name.
    """
    positions: dict[str, int] = {}
    for position, header in enumerate(headers):
        name = normalised(header)
        if name in KNOWN:
            if name in positions:
                raise InputError(
                    f"columns {headers[positions[name]]!r} and {header!r} have the same name; "
                    "rename or remove one"
                )
            positions[name] = position
    return positions


def choose_columns(table: RawTable) -> tuple[Mapping[str, Column], list[str]]:
    """Pick the column of each meaning.

    Returns
    -------
    chosen : mapping
        Meaning -> column, for the meanings the table has.
    notes : list of str
        Which column was taken where there were several.

    Raises
    ------
    InputError
        If a required meaning has no column.
    """
    written = {name: column.name for name, column in table.columns.items()}
    chosen, notes = choose_names(
        written, table.headers, lambda name: has_content(table.columns[name])
    )
    return {meaning: table.columns[name] for meaning, name in chosen.items()}, notes


def choose_names(
    written: Mapping[str, str], headers: Sequence[str], is_filled: Callable[[str], bool]
) -> tuple[dict[str, str], list[str]]:
    """Pick the name of each meaning's column; as `choose_columns`, without the columns.

    Parameters
    ----------
    written : mapping
        Normalised name -> name as written, of the known columns.
    headers : sequence of str
        Every column of the file.
    is_filled : callable
        Whether the column of a normalised name has any content.
    """
    chosen: dict[str, str] = {}
    notes: list[str] = []
    for meaning, names in NAMES.items():
        present = [name for name in names if name in written]
        if not present:
            continue
        best = present[0]
        if len(present) > 1:
            best = next((name for name in present if is_filled(name)), best)
        chosen[meaning] = best
        others = [f"`{written[name]}`" for name in present if name != best]
        if others and meaning in ("run", "question", "trial", "verdict"):
            notes.append(
                f"column `{written[best]}` gives the {meaning}; "
                f"not used for that: {', '.join(others)}"
            )
    _require(chosen, headers)
    if chosen.get("status") == chosen["verdict"]:
        del chosen["status"]
    return chosen, notes


def has_content(column: Column) -> bool:
    """Whether any cell holds anything."""
    if len(column.values) > 1 or column.is_temporal:
        return len(column.values) > 0
    return any(value is not None and str(value).strip() for value in column.scalars())


def _require(chosen: Mapping[str, str], headers: Sequence[str]) -> None:
    lacking = [meaning for meaning in REQUIRED if meaning not in chosen]
    if not lacking:
        return
    meaning, names = lacking[0], NAMES[lacking[0]]
    shown = ", ".join(repr(header) for header in headers[:_SHOWN])
    more = f" and {len(headers) - _SHOWN} more" if len(headers) > _SHOWN else ""
    advice = f"name one column {', '.join(names[:-1])} or {names[-1]}"
    near = [h for h in headers if difflib.get_close_matches(normalised(h), names, 1, 0.8)]
    if near:
        advice = f"is {near[0]!r} meant? Then {advice}"
    elif len(lacking) > 1 and len(headers) > _WIDE:
        advice += "; a table with a column per question or run must be made long first"
    raise InputError(f"no column for the {meaning} among {shown}{more}; {advice}")
