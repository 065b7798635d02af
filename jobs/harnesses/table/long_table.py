"""Long tables as a harness: one row per run, question and trial."""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import LogFile, LogUnit, ReadOptions, one_file_units
from jobs.harnesses.peek import Peek
from jobs.harnesses.table.columns import NAMES, RawTable, choose_columns, normalised
from jobs.harnesses.table.large_table import LARGE_ROWS, LargeTable, open_large
from jobs.harnesses.table.parquet_file import read_parquet, row_count
from jobs.harnesses.table.run_logs import build_run_logs
from jobs.harnesses.table.text_files import read_csv, read_jsonl
from recurring_eval.errors import InputError

_SUFFIXES: Final = frozenset((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"))
_PARQUET_MARK: Final = b"PAR1"
_TEXT_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
_HEAD_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class LongTable:
    """CSV, JSON lines and Parquet written by anyone's own scripts."""

    name: str = "table"
    large_rows: int = LARGE_ROWS

    def find(self, files: Sequence[Peek]) -> Iterable[LogUnit]:
        """Claim the files whose names end as those of tables do, and JSON lines with verdicts."""
        return one_file_units(file for file in files if _may_be_table(file))

    def is_large(self, path: Path) -> bool:
        """Whether a file is read some runs at a time."""
        try:
            with path.open("rb") as file:
                is_parquet = file.read(len(_PARQUET_MARK)) == _PARQUET_MARK
        except OSError:
            return False
        return is_parquet and row_count(path) > self.large_rows

    def open_large(self, path: Path) -> LargeTable | None:
        """Survey a large Parquet file; None for any other.

        Raises
        ------
        InputError
            As `read`.
        """
        return open_large(path) if self.is_large(path) else None

    def read(self, unit: LogUnit, options: ReadOptions) -> LogFile:
        """Read a file; what it is follows from its content, not its name.

        Raises
        ------
        InputError
            Saying what is wrong and in which line or row; the file's name is left out.
        """
        table = _read_raw(unit.path)
        columns, notes = choose_columns(table)
        runs, more_notes = build_run_logs(table, columns, options, harness=self.name)
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
    if head.startswith(_PARQUET_MARK):
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
