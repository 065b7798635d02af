"""The evaluation tools whose logs can be read."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.deep_eval import DeepEval
from jobs.harnesses.hal import Hal
from jobs.harnesses.harbor import Harbor
from jobs.harnesses.harness import Harness, SelectingHarness
from jobs.harnesses.helm import Helm
from jobs.harnesses.inspect_ai.reader import InspectAi
from jobs.harnesses.json_files import read_json
from jobs.harnesses.langfuse import Langfuse
from jobs.harnesses.lm_eval.reader import LmEval
from jobs.harnesses.log_files import SMALL_BYTES, LogUnit, Peek
from jobs.harnesses.ml_flow import MlFlow
from jobs.harnesses.openai_evals import OpenAiEvals
from jobs.harnesses.phoenix import Phoenix
from jobs.harnesses.promptfoo.reader import Promptfoo
from jobs.harnesses.py_test.reader import PyTest
from jobs.harnesses.swe_bench.reader import SweBench
from jobs.harnesses.table.long_table import LongTable
from jobs.harnesses.table.wide_table import WideTable
from jobs.harnesses.terminal_bench import TerminalBench
from recurring_eval.errors import InputError

AUTO: Final = "auto"

HARNESSES: Final[tuple[Harness, ...]] = (
    InspectAi(),
    LmEval(),
    SweBench(),
    Promptfoo(),
    PyTest(),
    TerminalBench(),
    Harbor(),
    OpenAiEvals(),
    DeepEval(),
    Hal(),
    Helm(),
    MlFlow(),
    Phoenix(),
    Langfuse(),
    WideTable(),
    LongTable(),
)
"""Asked in this order; each claims files that those before it did not."""


def harness_names() -> list[str]:
    """Names accepted by `harnesses_named`."""
    return [AUTO, *(harness.name for harness in HARNESSES)]


def harnesses_named(name: str) -> tuple[Harness, ...]:
    """Return the reader of that name, or all of them for ``auto``.

    Raises
    ------
    InputError
        If there is no such reader.
    """
    found = tuple(h for h in HARNESSES if name in (AUTO, h.name))
    if not found:
        raise InputError(f"no harness is called {name!r}; choose from {', '.join(harness_names())}")
    return found


def selecting_harnesses() -> dict[str, SelectingHarness]:
    """Return the tools that a choice of questions can be phrased for, by name."""
    return {h.name: h for h in HARNESSES if isinstance(h, SelectingHarness)}


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
    """Problem of a small file that should be JSON; None if it is."""
    if file.size > SMALL_BYTES:
        return None
    try:
        read_json(file.path)
    except InputError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return None
