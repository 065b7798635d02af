"""Long tables: one row per run, question and trial; large ones are read some runs at a time."""

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.log_files import LogUnit, Peek, one_file_units
from jobs.harnesses.table.columns import (
    NAMES,
    Column,
    RawTable,
    choose_columns,
    choose_names,
    has_content,
    normalised,
)
from jobs.harnesses.table.identifiers import FileFacts, read_keys
from jobs.harnesses.table.parquet_file import (
    PARQUET_MARK,
    ParquetTable,
    cut,
    is_parquet,
    read_parquet,
    row_count,
    spooled_parts,
)
from jobs.harnesses.table.run_logs import build_run_logs, runs_of_rows
from jobs.harnesses.table.text_files import read_csv, read_jsonl
from recurring_eval.errors import InputError

_NAME: Final = "table"
LARGE_ROWS: Final = 1_000_000
PART_ROWS: Final = 500_000
_BATCH_ROWS: Final = 250_000
_SURVEYED: Final = ("run", "benchmark", "question", "trial", "verdict")

RunName = tuple[str | None, str]
"""Benchmark, if a column names it, and id of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeTable:
    """A large file, of which everything but the rows themselves is known.

    Attributes
    ----------
    file : ParquetTable
    chosen : mapping of str to str
        Meaning -> normalised name of its column.
    notes : tuple of str
    facts : FileFacts
    questions : mapping of (str or None) to frozenset of str
        Questions by benchmark; None where the table names no benchmark.
    parts : tuple of tuple of RunName
        Runs that are read together, in order.
    is_sorted : bool
        Whether the rows of each run stand together, so that parts are ranges of rows.
    rows_of_parts : tuple of int
        Rows of each part.
    """

    file: ParquetTable
    chosen: Mapping[str, str]
    notes: tuple[str, ...]
    facts: FileFacts
    questions: Mapping[str | None, frozenset[str]]
    parts: tuple[tuple[RunName, ...], ...]
    is_sorted: bool
    rows_of_parts: tuple[int, ...]

    def read_parts(self, options: ReadOptions, *, harness: str) -> Iterator[LogFile]:
        """Read the runs, some at a time; every run is in one part, whole.

        Raises
        ------
        InputError
            As soon as a part has something that cannot be read.
        """
        for table in self._tables():
            columns = self._columns(table)
            runs, notes = build_run_logs(table, columns, options, harness=harness, facts=self.facts)
            yield LogFile(runs=runs, notes=(*self.notes, *notes))

    def _columns(self, table: RawTable) -> dict[str, Column]:
        return {meaning: table.columns[name] for meaning, name in self.chosen.items()}

    def _tables(self) -> Iterator[RawTable]:
        names = sorted(set(self.chosen.values()))
        batches = self.file.batches(names, _BATCH_ROWS)
        if self.is_sorted:
            first = 1
            for rows in cut(batches, self.rows_of_parts):
                yield self.file.table(rows, first)
                first += rows.num_rows
            return
        part_of = {run: number for number, runs in enumerate(self.parts) for run in runs}

        def parts_of(rows: pa.Table) -> NDArray[np.intp]:
            run, known = _runs(self.file.table(rows, 1), self.chosen)
            return np.array([part_of[name] for name in known], dtype=np.intp)[run]

        for rows, numbers in spooled_parts(batches, parts_of, n_parts=len(self.parts)):
            yield self.file.table(rows, numbers)


def open_large(path: Path) -> LargeTable:
    """Survey a Parquet file in constant memory.

    Raises
    ------
    InputError
        If the file is damaged, or lacks a column or an id.
    """
    file = ParquetTable.open(path)
    chosen, notes = choose_names(file.written, file.headers, lambda name: _is_filled(file, name))
    survey = _Survey(chosen)
    surveyed = sorted({chosen[meaning] for meaning in _SURVEYED if meaning in chosen})
    for rows in file.batches(surveyed, _BATCH_ROWS):
        survey.add(file.table(rows, survey.n_rows + 1))
    parts = survey.parts()
    return LargeTable(
        file=file,
        chosen=chosen,
        notes=tuple(notes),
        facts=survey.facts(),
        questions={key: frozenset(names) for key, names in survey.questions.items()},
        parts=tuple(tuple(runs) for runs, _ in parts),
        is_sorted=survey.is_sorted(),
        rows_of_parts=tuple(n_rows for _, n_rows in parts),
    )


class _Survey:
    """Grows with each batch of rows, by no more than the names in it."""

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self._chosen = chosen
        self._facts: FileFacts | None = None
        self._rows: dict[RunName, list[int]] = {}  # first and last row, and how many
        self.questions: dict[str | None, set[str]] = {}
        self.n_rows = 0

    def add(self, table: RawTable) -> None:
        columns = {
            meaning: table.columns[self._chosen[meaning]]
            for meaning in _SURVEYED
            if meaning in self._chosen
        }
        facts = FileFacts.of(columns)
        self._facts = facts if self._facts is None else self._facts | facts
        run, names = _runs(table, self._chosen)
        codes, first, counts = np.unique(run, return_index=True, return_counts=True)
        last = len(run) - 1 - np.unique(run[::-1], return_index=True)[1]
        for code, start, end, count in zip(
            codes.tolist(), first.tolist(), last.tolist(), counts.tolist(), strict=True
        ):
            known = self._rows.setdefault(names[code], [self.n_rows + start, 0, 0])
            known[1] = self.n_rows + end
            known[2] += count
        questions = read_keys(table, columns["question"], "question")
        benchmark_of = [names[code][0] for code in range(len(names))]
        if len(set(benchmark_of)) == 1:
            self.questions.setdefault(benchmark_of[0], set()).update(questions.names)
        else:
            pairs = np.unique(run.astype(np.int64) * len(questions.names) + questions.codes)
            for pair in pairs.tolist():
                code, question = divmod(pair, len(questions.names))
                self.questions.setdefault(benchmark_of[code], set()).add(questions.names[question])
        self.n_rows += table.n_rows

    def facts(self) -> FileFacts:
        assert self._facts is not None  # noqa: S101  # a large file has rows
        return self._facts

    def is_sorted(self) -> bool:
        return all(last - first + 1 == count for first, last, count in self._rows.values())

    def parts(self) -> list[tuple[list[RunName], int]]:
        """Gather the runs, in the order of their first rows, to parts; with the rows of each."""
        parts: list[tuple[list[RunName], int]] = []
        runs: list[RunName] = []
        n_rows = 0
        for run, (_, _, count) in sorted(self._rows.items(), key=lambda item: item[1][0]):
            runs.append(run)
            n_rows += count
            if n_rows >= PART_ROWS:
                parts.append((runs, n_rows))
                runs, n_rows = [], 0
        return [*parts, (runs, n_rows)] if runs else parts


def _runs(table: RawTable, chosen: Mapping[str, str]) -> tuple[NDArray[np.int32], list[RunName]]:
    """Run of each row, and the names of the runs."""
    columns = {
        meaning: table.columns[chosen[meaning]]
        for meaning in ("run", "benchmark")
        if meaning in chosen
    }
    run, names, benchmarks = runs_of_rows(table, columns)
    return run, list(zip(benchmarks, names, strict=True))


def _is_filled(file: ParquetTable, name: str) -> bool:
    return any(
        has_content(file.table(rows, 1).columns[name]) for rows in file.batches([name], _BATCH_ROWS)
    )


_SUFFIXES: Final = frozenset((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"))
_TEXT_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
_HEAD_BYTES: Final = 1 << 16


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim the files whose names end as those of tables do, and JSON lines with verdicts."""
    return one_file_units(file for file in files if _may_be_table(file))


def _large(path: Path) -> Callable[[], LargeTable] | None:
    """Survey of a Parquet file of many rows; None for any other file."""
    try:
        is_large = is_parquet(path) and row_count(path) > LARGE_ROWS
    except OSError:
        return None
    return partial(open_large, path) if is_large else None


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read a file; what it is follows from its content, not its name.

    Raises
    ------
    InputError
        Saying what is wrong and in which line or row; the file's name is left out.
    """
    table = _read_raw(unit.path)
    columns, notes = choose_columns(table)
    runs, more_notes = build_run_logs(table, columns, options, harness=_NAME)
    return LogFile(runs=runs, notes=(*table.notes, *notes, *more_notes))


def _may_be_table(file: Peek) -> bool:
    suffix = file.path.suffix.lower()
    if suffix in (".jsonl", ".ndjson") and file.keys:
        return any(normalised(key) in NAMES["verdict"] for key in file.keys)
    return suffix in _SUFFIXES


def _read_raw(path: Path) -> RawTable:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip():
        raise InputError("is empty")
    if head.startswith(PARQUET_MARK):
        return read_parquet(path)
    for mark, name in _COMPRESSED.items():
        if head.startswith(mark):
            raise InputError(f"is {name}-compressed; unpack it first")
    if b"\0" in head and not head.startswith(_TEXT_MARKS):
        cut = " or a damaged Parquet file" if path.suffix.lower() == ".parquet" else ""
        raise InputError(f"is a binary file{cut}, not CSV, JSON lines or Parquet")
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"{"):
        return read_jsonl(path)
    if start.startswith(b"["):
        raise InputError("is a JSON list; write one object per line")
    return read_csv(path)


LONG_TABLE: Final = Harness(name=_NAME, find=_find, read=_read, large=_large)
"""CSV, JSON lines and Parquet written by anyone's own scripts."""
