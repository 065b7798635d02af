"""Which files of an import are logs, of which tool, and which belong together."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogUnit
from jobs.harnesses.json_files import read_json
from jobs.harnesses.peek import SMALL_BYTES, Peek
from jobs.harnesses.registry import harnesses_named
from recurring_eval.errors import InputError

_LOG_SUFFIXES: Final = frozenset(
    (".csv", ".eval", ".json", ".jsonl", ".ndjson", ".parquet", ".tsv", ".xml", ".yaml")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLog:
    """A log and the tool that claims it.

    Attributes
    ----------
    unit : LogUnit
    harness : Harness or None
        None for a file no tool claims.
    problem : str or None
        What is wrong with an unclaimed file that looks like a damaged log.
    """

    unit: LogUnit
    harness: Harness | None
    problem: str | None = None


def find_logs(path: Path, *, harness: str) -> list[FoundLog]:
    """Find the logs of a file, or of a folder with all it contains, in order of path.

    Every file is in exactly one of them; unclaimed files come with no harness. A
    file given alone that none claims goes to the last reader, which says what is
    wrong with it.

    Raises
    ------
    InputError
        If there is no such harness.
    """
    readers = harnesses_named(harness)
    if not path.is_dir():
        unit, reader = _file_alone(path, readers)
        return [FoundLog(unit=unit, harness=reader)]
    left = {file.path: file for file in map(Peek, _files_in(path))}
    found: list[FoundLog] = []
    for reader in readers:
        for unit in reader.find(list(left.values())):
            claimed = [file for file in unit.files if file in left]
            for file in claimed:
                del left[file]
            if claimed:
                found.append(FoundLog(unit=unit, harness=reader))
    found += [_unclaimed(file) for file in left.values()]
    return sorted(found, key=lambda log: (log.unit.path, log.unit.files))


def looks_like_log(path: Path) -> bool:
    """Whether a name, perhaps of no file, ends as those of logs do."""
    return path.suffix.lower() in _LOG_SUFFIXES


def logs_among(paths: Sequence[Path], *, harness: str) -> list[Path]:
    """Files that are logs, or the folders whose files make up one.

    Raises
    ------
    InputError
        If there is no such harness.
    """
    left = {path: Peek(path) for path in paths}
    logs = []
    for reader in harnesses_named(harness):
        for unit in reader.find(list(left.values())):
            claimed = [left.pop(file) for file in unit.files if file in left]
            if claimed and unit.not_a_log is None:
                logs.append(unit.path)
    return logs


def _file_alone(path: Path, readers: Sequence[Harness]) -> tuple[LogUnit, Harness]:
    if path.is_file():
        file = Peek(path)
        for reader in readers:
            units = [unit for unit in reader.find([file]) if path in unit.files]
            if units:
                return units[0], reader
    return LogUnit(path=path, files=(path,)), readers[-1]


def _unclaimed(file: Peek) -> FoundLog:
    problem = None
    if looks_like_log(file.path):
        if file.size > 0 and not file.head:
            problem = "cannot be read"
        elif file.size == 0 or (file.path.suffix == ".json" and file.document is None):
            problem = _json_problem(file)
    return FoundLog(unit=LogUnit(path=file.path, files=(file.path,)), harness=None, problem=problem)


def _files_in(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(root, name) for name in sorted(names) if not name.startswith("."))


def _json_problem(file: Peek) -> str | None:
    """Say what is wrong with a small file that should be JSON."""
    if file.size > SMALL_BYTES:
        return None
    try:
        read_json(file.path)
    except InputError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return None
