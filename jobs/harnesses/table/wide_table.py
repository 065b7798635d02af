"""Wide tables: matrices of verdicts with a row per run, or a column per run."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.log_files import LogUnit, Peek, one_file_units
from jobs.harnesses.log_values import time_of_name
from jobs.harnesses.table.columns import KNOWN, NAMES, Column, RawTable, choose_columns, normalised
from jobs.harnesses.table.parquet_file import PARQUET_MARK, is_parquet, read_parquet
from jobs.harnesses.table.run_logs import build_run_logs
from jobs.harnesses.table.text_files import read_csv, read_header
from jobs.harnesses.table.verdict_words import may_be_verdict
from recurring_eval.errors import InputError

_NAME: Final = "wide-table"
_RUN: Final = frozenset((*NAMES["run"], "agent", "model"))
_QUESTION: Final = frozenset((*NAMES["question"], "question"))
_VERDICT: Final = frozenset(NAMES["verdict"])
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Positions of the columns by what they are.

    Attributes
    ----------
    has_row_per_run : bool
    key : int
        Column of the runs, or of the questions.
    facts : tuple of int
        Columns that describe a row.
    cells : tuple of int
        Columns of verdicts.
    """

    has_row_per_run: bool
    key: int
    facts: tuple[int, ...]
    cells: tuple[int, ...]


def _layout_of(headers: Sequence[str]) -> _Layout | None:
    """_Layout that the headers alone allow; None if they could be those of a long table."""
    names = [normalised(header) for header in headers]
    met = set(names)
    if len(names) < 2 or met & _VERDICT:
        return None
    cells = tuple(at for at, name in enumerate(names) if at and name not in KNOWN)
    facts = tuple(at for at, name in enumerate(names) if at and name in KNOWN)
    if not cells:
        return None
    others = {names[at] for at in facts}
    if names[0] in _QUESTION and not others & (_RUN | _QUESTION):
        return _Layout(has_row_per_run=False, key=0, facts=facts, cells=cells)
    if met & _QUESTION or len(cells) < 2:
        return None
    keys = [at for at, name in enumerate(names) if name in NAMES["run"] and name != "date"]
    key = keys[0] if keys else 0
    if names[key] not in _RUN:
        return None
    rest = tuple(at for at in (0, *facts) if at != key)
    if any(names[at] not in KNOWN for at in rest):
        return None
    return _Layout(has_row_per_run=True, key=key, facts=rest, cells=cells)


def _holds_verdicts(rows: Sequence[Sequence[object]], layout: _Layout) -> bool:
    """Whether the first rows have verdicts where the layout puts them."""
    told = [
        row[at]
        for row in rows
        for at in layout.cells
        if at < len(row) and (layout.has_row_per_run or normalised(str(row[0])) not in KNOWN)
    ]
    return bool(told) and all(map(may_be_verdict, told)) and any(map(_is_filled, told))


def _is_filled(value: object) -> bool:
    return value is not None and bool(str(value).strip())


def _check_distinct(headers: Sequence[str], layout: _Layout) -> None:
    """Refuse two columns of one name."""
    counts = Counter(headers[at] for at in layout.cells)
    twice = [name for name, n in counts.items() if n > 1]
    if twice:
        what = "question" if layout.has_row_per_run else "run"
        raise InputError(
            f"has {len(twice)} {what}s with several columns, among them {twice[0]!r:.80}; "
            "keep one of each"
        )


def _without_time(layout: _Layout, headers: Sequence[str]) -> InputError:
    """Error for a table that does not say when its runs were."""
    shown = ", ".join(repr(headers[at])[:40] for at in layout.cells[:_SHOWN])
    if layout.has_row_per_run:
        return InputError(
            f"has a row per run (questions {shown}, ...) but no times of them; add a column "
            "started_at"
        )
    return InputError(
        f"has a column per run ({shown}, ...) but no times of them; add a row whose first "
        "cell is started_at, or put the dates into the headings"
    )


def _stacked(columns: Sequence[Column], name: str) -> Column:
    """Columns under one another."""
    position: dict[tuple[type, object], int] = {}
    parts = []
    for column in columns:
        lookup = [position.setdefault((type(v), v), len(position)) for v in column.scalars()]
        parts.append(column.take(np.array(lookup, dtype=np.int32), -1))
    return Column(
        name=name, codes=np.concatenate(parts), values=tuple(value for _, value in position)
    )


_TEXT: Final = frozenset((".csv", ".tsv"))
_ROWS_SEEN: Final = 20
_MOST_CELLS: Final = 50_000_000
_TIMES: Final = frozenset(NAMES["time"])


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim tables whose headers are no long table's and whose cells are verdicts."""
    return one_file_units(file for file in files if _is_wide(file))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read a table.

    Raises
    ------
    InputError
        Saying what is wrong, and what to add where the table leaves something open.
    """
    raw = read_wide(unit.path)
    layout = _layout_of(raw.headers)
    if layout is None:
        raise InputError(
            "is no wide table: the first column must be run_id, agent or question_id, and no "
            "column may be named as verdicts are"
        )
    _check_distinct(raw.headers, layout)
    if raw.n_rows * len(layout.cells) > _MOST_CELLS:
        raise InputError(f"has more than {_MOST_CELLS:,} cells; make it long and split it")
    if layout.has_row_per_run:
        table, note = _of_row_per_run(raw, layout), "has a row per run"
    else:
        table, note = _of_column_per_run(raw, layout, options), "has a column per run"
    columns, _ = choose_columns(table)
    runs, notes = build_run_logs(table, columns, options, harness=_NAME)
    return LogFile(runs=runs, notes=(*raw.notes, note, *notes))


def _is_wide(file: Peek) -> bool:
    if file.head.startswith(PARQUET_MARK):
        try:
            raw = read_wide(file.path)
        except (InputError, OSError):
            return False
        layout = _layout_of(raw.headers)
        cells = [raw.columns[str(at)].scalars() for at in range(len(raw.headers))]
        rows = list(islice(zip_longest(*cells), _ROWS_SEEN))
        return layout is not None and _holds_verdicts(rows, layout)
    if file.path.suffix.lower() not in _TEXT or b"\0" in file.head:
        return False
    try:
        headers, delimiter = read_header(file.head, "utf8")
        layout = _layout_of(headers)
        if layout is None:
            return False
        text = file.head.decode("utf-8-sig", errors="replace")
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (InputError, csv.Error):
        return False
    whole = lines[1:] if file.size <= len(file.head) else lines[1:-1]
    if not whole and file.size > len(file.head):
        return True
    return _holds_verdicts(whole[:_ROWS_SEEN], layout)


def read_wide(path: Path, *, row_word: str = "row") -> RawTable:
    """Read every column of a table, by its position as text.

    Parameters
    ----------
    path : Path
        CSV or Parquet.
    row_word : str
        What the rows of CSV are called where one has too few or too many cells.

    Raises
    ------
    InputError
        If the file is damaged or has no rows.
    """

    def everything(headers: list[str]) -> dict[str, int]:
        return {str(at): at for at in range(len(headers))}

    if is_parquet(path):
        return read_parquet(path, wanted=everything)
    return read_csv(path, wanted=everything, row_word=row_word)


def _of_row_per_run(raw: RawTable, layout: _Layout) -> RawTable:
    n = len(layout.cells)
    headers = [raw.headers[at] for at in layout.cells]
    facts = {normalised(raw.headers[at]): raw.columns[str(at)] for at in layout.facts}
    key = raw.columns[str(layout.key)]
    facts |= {normalised(raw.headers[layout.key]): key}
    if not facts.keys() & _TIMES:
        raise _without_time(layout, raw.headers)
    if not facts.keys() & set(NAMES["run"]):
        facts["run_id"] = replace(key, name="run_id")
    columns = {name: _tiled(column, n) for name, column in facts.items()}
    columns["question_id"] = Column(
        name="question_id",
        codes=np.repeat(np.arange(n, dtype=np.int32), raw.n_rows),
        values=tuple(headers),
    )
    columns["verdict"] = _stacked([raw.columns[str(at)] for at in layout.cells], "of a question")
    return _long(raw, columns, np.tile(raw.row_numbers, n))


def _of_column_per_run(raw: RawTable, layout: _Layout, options: ReadOptions) -> RawTable:
    key = raw.columns[str(layout.key)]
    values = [normalised(str(value)) in KNOWN for value in key.scalars()]
    is_fact = key.take(np.array(values, dtype=np.bool_), False)
    rows = np.flatnonzero(~is_fact)
    if not rows.size:
        raise InputError("has no row of a question")
    runs = [raw.headers[at] for at in layout.cells]
    cells = [raw.columns[str(at)] for at in layout.cells]
    names = key.scalars()
    columns: dict[str, Column] = {}
    for row in np.flatnonzero(is_fact):
        name = normalised(str(names[key.codes[row]]))
        told = _stacked([column.at(np.array([row])) for column in cells], name)
        columns[name] = replace(told, codes=np.repeat(told.codes, rows.size))
    if not columns.keys() & _TIMES:
        times = [time_of_name(run, options.timezone) for run in runs]
        if None in times:
            raise _without_time(layout, raw.headers)
        columns["started_at"] = Column(
            name="started_at",
            codes=np.repeat(np.arange(len(runs), dtype=np.int32), rows.size),
            values=tuple(time.isoformat() for time in times if time is not None),
        )
    columns["run_id"] = Column(
        name="run_id",
        codes=np.repeat(np.arange(len(runs), dtype=np.int32), rows.size),
        values=tuple(runs),
    )
    columns |= {
        normalised(raw.headers[at]): _tiled(raw.columns[str(at)].at(rows), len(runs))
        for at in layout.facts
    }
    columns["question_id"] = replace(_tiled(key.at(rows), len(runs)), name=raw.headers[layout.key])
    columns["verdict"] = _stacked([column.at(rows) for column in cells], "of a run")
    return _long(raw, columns, np.tile(raw.row_numbers[rows], len(runs)))


def _long(raw: RawTable, columns: dict[str, Column], numbers: NDArray[np.int64]) -> RawTable:
    return RawTable(
        columns=columns,
        headers=tuple(column.name for column in columns.values()),
        n_rows=len(numbers),
        row_word=raw.row_word,
        row_numbers=numbers,
    )


def _tiled(column: Column, n: int) -> Column:
    return replace(column, codes=np.tile(column.codes, n))


WIDE_TABLE: Final = Harness(name=_NAME, find=_find, read=_read)
"""Matrices of verdicts, as spreadsheets and ``replay`` have them."""
