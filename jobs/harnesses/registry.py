"""The evaluation tools whose logs can be read, and which files of an import are their logs."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.deep_eval import DEEP_EVAL
from jobs.harnesses.hal import HAL
from jobs.harnesses.harbor import HARBOR
from jobs.harnesses.harness import Harness
from jobs.harnesses.helm import HELM
from jobs.harnesses.inspect_ai.reader import INSPECT_AI
from jobs.harnesses.json_files import read_json
from jobs.harnesses.langfuse import LANGFUSE
from jobs.harnesses.lm_eval.reader import LM_EVAL
from jobs.harnesses.log_files import SMALL_BYTES, LogUnit, Peek
from jobs.harnesses.ml_flow import ML_FLOW
from jobs.harnesses.openai_evals import OPENAI_EVALS
from jobs.harnesses.phoenix import PHOENIX
from jobs.harnesses.promptfoo.reader import PROMPTFOO
from jobs.harnesses.py_test.reader import PY_TEST
from jobs.harnesses.selection import Selection, SelectionContext
from jobs.harnesses.swe_bench.reader import SWE_BENCH
from jobs.harnesses.table.long_table import LONG_TABLE
from jobs.harnesses.table.wide_table import WIDE_TABLE
from jobs.harnesses.terminal_bench import TERMINAL_BENCH
from recurring_eval.errors import InputError

AUTO: Final = "auto"

_LOG_SUFFIXES: Final = frozenset(
    (".csv", ".eval", ".json", ".jsonl", ".ndjson", ".parquet", ".tsv", ".xml", ".yaml")
)

HARNESSES: Final[tuple[Harness, ...]] = (
    INSPECT_AI,
    LM_EVAL,
    SWE_BENCH,
    PROMPTFOO,
    PY_TEST,
    TERMINAL_BENCH,
    HARBOR,
    OPENAI_EVALS,
    DEEP_EVAL,
    HAL,
    HELM,
    ML_FLOW,
    PHOENIX,
    LANGFUSE,
    WIDE_TABLE,
    LONG_TABLE,
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


def selections() -> dict[str, Callable[[Sequence[str], SelectionContext], Selection]]:
    """Return how each tool phrases a choice of questions, by the name of the tool."""
    return {h.name: h.selection for h in HARNESSES if h.selection is not None}


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
    found = [FoundLog(unit=unit, harness=reader) for reader, unit in _claims(left, readers)]
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
    claims = _claims(left, harnesses_named(harness))
    return [unit.path for _, unit in claims if unit.not_a_log is None]


def _claims(
    left: dict[Path, Peek], readers: Sequence[Harness]
) -> Iterator[tuple[Harness, LogUnit]]:
    """Yield what each reader in turn claims of the files that are left, and take these out."""
    for reader in readers:
        for unit in reader.find(list(left.values())):
            if [left.pop(file) for file in unit.files if file in left]:
                yield reader, unit


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
