"""The files of an import: found, read and reported one by one."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.harnesses.harness import LargeLog, ReadOptions, StreamingHarness
from jobs.harnesses.registry import harness_for, is_expected
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog
from storage.imported_files import ImportedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file of an import.

    Attributes
    ----------
    path : Path
    logs : tuple of RunLog
        Empty when the file was refused or skipped.
    notes : tuple of str
    file_hash : str
        SHA-256 of the content, as hex.
    refusal : str or None
        Why nothing of the file is imported.
    is_skipped : bool
        Whether it was only met in a folder and is no log.
    large : LargeLog or None
        In place of `logs` where these are too many for memory.
    questions : mapping of str to frozenset of str
        Questions by benchmark, once the runs are addressed.
    known : ImportedFile or None
        Set if the file need not be read: all of it is stored.
    """

    path: Path
    logs: tuple[RunLog, ...] = ()
    notes: tuple[str, ...] = ()
    file_hash: str = ""
    refusal: str | None = None
    is_skipped: bool = False
    large: LargeLog | None = None
    questions: Mapping[str, frozenset[str]] = field(default_factory=dict)
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

    A file that cannot be read is a refused source, not an error.

    Raises
    ------
    InputError
        If there is no such harness.
    """
    harness_for(harness, Path())
    seen: set[str] = set()
    for path in paths:
        found = list(_files_in(path)) if path.is_dir() else [path]
        expected = [file for file in found if file == path or is_expected(harness, file)]
        if not expected:
            yield Source(path=path, refusal="has no CSV, JSON lines or Parquet file in it")
        for file in found:
            real = os.path.realpath(file)  # unlike Path.resolve, lets links in a circle pass
            if real in seen:
                continue
            seen.add(real)
            if file in expected:
                yield _read(file, harness, options, remembered)
            else:
                yield Source(
                    path=file, refusal="not a CSV, JSON lines or Parquet file", is_skipped=True
                )


def all_questions(sources: Sequence[Source]) -> dict[str, frozenset[str]]:
    """Questions of all addressed files, by benchmark."""
    questions: dict[str, frozenset[str]] = {}
    for source in sources:
        for benchmark, ids in source.questions.items():
            questions[benchmark] = questions.get(benchmark, frozenset()) | ids
    return questions


def _files_in(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(root, name) for name in sorted(names) if not name.startswith("."))


def _read(
    path: Path,
    harness: str,
    options: ReadOptions,
    remembered: Callable[[str], ImportedFile | None],
) -> Source:
    try:
        if not path.exists():
            raise InputError("no such file")
        if not path.is_file():
            raise InputError("is not a regular file")
        reader = harness_for(harness, path)
        if isinstance(reader, StreamingHarness) and reader.is_large(path):
            digest = _sha256(path)
            known = remembered(digest)
            large = None if known is not None else reader.open_large(path)
            return Source(path=path, file_hash=digest, large=large, known=known)
        log = reader.read(path, options)
        digest = _sha256(path)
    except InputError as error:
        return Source(path=path, refusal=str(error))
    except OSError as error:
        return Source(path=path, refusal=f"cannot be read: {error.strerror or error}")
    return Source(path=path, logs=log.runs, notes=log.notes, file_hash=digest)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
