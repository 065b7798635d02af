"""Files of an import before they are read: a first look, and which of them are one log."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import JsonObject, as_object, parse_json, read_json
from recurring_eval.errors import InputError

HEAD_BYTES: Final = 1 << 16
SMALL_BYTES: Final = 8 << 20

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


class Peek:
    """A file found by an import, read only as far as it takes to recognise it.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def size(self) -> int:
        """Bytes; -1 if the file cannot be looked at."""
        try:
            return self.path.stat().st_size
        except OSError:
            return -1

    @cached_property
    def head(self) -> bytes:
        """The first 64 KB; empty if the file cannot be read."""
        try:
            with self.path.open("rb") as file:
                return file.read(HEAD_BYTES)
        except OSError:
            return b""

    @property
    def is_zip(self) -> bool:
        """Whether it begins as a zip archive does."""
        return self.head.startswith(b"PK\x03\x04")

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the outermost JSON object, as far as the head shows them.

        For a list, or for JSON lines, those of the first object in it. Works on cut files.
        """
        return _outer_keys(self.head)

    @cached_property
    def first_line(self) -> object:
        """JSON document in the first line; None if it is not one or longer than the head."""
        line, end, _ = self.head.lstrip(b"\xef\xbb\xbf \r\n\t").partition(b"\n")
        if not end and self.size > len(self.head):
            return None
        return _parsed(line)

    @property
    def document(self) -> object:
        """The whole JSON document of a file of up to 8 MB; None if it is none."""
        if not 0 < self.size <= SMALL_BYTES:
            return None
        if self.size <= len(self.head):
            return self._small_document
        # Not kept: a folder may hold thousands of such files.
        try:
            return _parsed(self.path.read_bytes())
        except OSError:
            return None

    @cached_property
    def _small_document(self) -> object:
        return _parsed(self.head)


def _parsed(content: bytes) -> object:
    try:
        return parse_json(content)
    except InputError:
        return None


def _outer_keys(head: bytes) -> frozenset[str]:
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    if start[:1] == b"[":
        start = start[1:].lstrip()
    if start[:1] != b"{":
        return frozenset()
    depth = 0
    keys: set[str | None] = set()
    text: bytes | None = None
    for match in _TOKEN.finditer(start):
        token = match[0]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
            if depth == 0:
                break
        elif token == b":" and depth == 1 and text is not None:
            keys.add(_text(text))
        text = token if token[:1] == b'"' else None
    return frozenset(key for key in keys if key is not None)


def _text(token: bytes) -> str | None:
    try:
        return str(json.loads(token))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUnit:
    """Files that are one log.

    Attributes
    ----------
    path : Path
        The file or folder it is reported under.
    files : tuple of Path
        All of its files; `path` itself if it is a file.
    not_a_log : str or None
        What it is, if it is to be passed over.
    """

    path: Path
    files: tuple[Path, ...]
    not_a_log: str | None = None


def one_file_units(files: Iterable[Peek]) -> list[LogUnit]:
    """Each file as a log of its own."""
    return [LogUnit(path=file.path, files=(file.path,)) for file in files]


def units_of_folders(
    files: Sequence[Peek], folder_of: Callable[[Peek], Path | None]
) -> list[LogUnit]:
    """Folders that are one log, each with all the files of an import that lie in it.

    Parameters
    ----------
    files : sequence of Peek
    folder_of : callable
        Folder of the log that a JSON file is a part of; None for other files.
    """
    found: dict[Path, list[Path]] = {}
    for file in files:
        folder = folder_of(file) if file.path.suffix == ".json" else None
        if folder is not None:
            found.setdefault(folder, [])
    for file in files:
        folder = next((parent for parent in file.path.parents if parent in found), None)
        if folder is not None:
            found[folder].append(file.path)
    return [LogUnit(path=folder, files=tuple(files)) for folder, files in found.items() if files]


def documents_in(folder: Path, names: Sequence[str]) -> tuple[list[JsonObject], list[str]]:
    """JSON objects that describe a folder's log as a whole, with a note on each damaged one.

    One that is absent or damaged is empty.
    """
    found: list[JsonObject] = []
    notes = []
    for name in names:
        path = folder / name
        try:
            found.append(as_object(read_json(path)) if path.is_file() else {})
        except InputError as error:
            found.append({})
            notes.append(f"{name} was not used: it {error}")
    return found, notes
