"""The logs of an import: found and read one by one."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jobs.harnesses.harness import LargeLog, LogFile, ReadOptions
from jobs.harnesses.registry import FoundLog, find_logs, harnesses_named
from recurring_eval.errors import InputError
from storage.runs.imports import ImportedFile

NO_LOG = "not a log of a known tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One log of an import.

    Attributes
    ----------
    path : Path
        File, or folder of the files that make up the log.
    files : tuple of Path
    harness : str
        Name of the reader; empty if no tool claims it.
    log : LogFile
        What the reader found; without runs if it was refused, skipped, large or known.
    file_hash : str
        SHA-256 of the content, as hex.
    refusal : str or None
        Why nothing of it is imported.
    is_skipped : bool
        Whether it was only met in a folder and is no log.
    large : LargeLog or None
        In place of `log` where its runs are too many for memory.
    known : ImportedFile or None
        Set if the log need not be read: all of it is stored.
    """

    path: Path
    files: tuple[Path, ...]
    harness: str = ""
    log: LogFile = field(default_factory=lambda: LogFile(runs=()))
    file_hash: str = ""
    refusal: str | None = None
    is_skipped: bool = False
    large: LargeLog | None = None
    known: ImportedFile | None = None


def read_sources(
    paths: Sequence[Path],
    *,
    harness: str,
    options: ReadOptions,
    remembered: Callable[[str], ImportedFile | None] = lambda _: None,
) -> Iterator[Source]:
    """Read files, and folders with all they contain, in order of name.

    Large files of which `remembered` (given the hash of the bytes) knows that all is
    stored are not read, the others only surveyed.

    A log that cannot be read is a refused source, not an error.

    Raises
    ------
    InputError
        If there is no such harness.
    """
    harnesses_named(harness)
    seen: set[str] = set()
    for path in paths:
        logs = find_logs(path, harness=harness)
        if path.is_dir() and all(log.harness is None and log.problem is None for log in logs):
            yield Source(path=path, files=(), refusal="has no log of a known tool in it")
        for log in logs:
            # Unlike Path.resolve, realpath lets links in a circle pass.
            resolved = {os.path.realpath(file) for file in log.unit.files}
            if resolved <= seen:
                continue
            seen |= resolved
            yield _read(log, options, remembered)


def _read(
    log: FoundLog, options: ReadOptions, remembered: Callable[[str], ImportedFile | None]
) -> Source:
    path, files = log.unit.path, log.unit.files
    if log.harness is None or log.unit.not_a_log is not None:
        return Source(
            path=path,
            files=files,
            refusal=log.problem or log.unit.not_a_log or NO_LOG,
            is_skipped=log.problem is None,
        )
    source = Source(path=path, files=files, harness=log.harness.name)
    try:
        if not path.exists():
            raise InputError("no such file")
        if not path.is_file() and files == (path,):
            raise InputError("is not a regular file")
        survey = log.harness.large(path)
        if survey is not None:
            file_hash = _hash(files)
            known = remembered(file_hash)
            large = None if known is not None else survey()
            return replace(source, file_hash=file_hash, large=large, known=known)
        found = log.harness.read(log.unit, options)
        return replace(source, log=found, file_hash=_hash(files))
    except InputError as error:
        return replace(source, refusal=str(error))
    except OSError as error:
        return replace(source, refusal=f"cannot be read: {error.strerror or error}")


def _hash(files: Sequence[Path]) -> str:
    digests = []
    for path in files:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )
