"""JSON from files of unknown origin, whole or streamed: one clear line for whatever is wrong."""

import codecs
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from recurring_eval.errors import InputError

MOST_BYTES: Final = 512 << 20
"""Files read at once; larger ones are streamed."""

LONGEST_LINE: Final = 64 << 20

JsonObject = Mapping[str, object]


def read_whole(path: Path) -> bytes:
    """Read a file.

    Raises
    ------
    InputError
        If it is too large to be read at once.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise InputError(f"is too large to be read at once: {size >> 20:,} MB")
    return path.read_bytes()


def decoded(content: bytes) -> str:
    """Text in UTF-8, with or without a mark at its start.

    Raises
    ------
    InputError
        Naming the byte that is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: byte {error.start:,} cannot be read") from None


def read_json(path: Path) -> object:
    """Read a whole JSON file; NaN and Infinity are accepted.

    Raises
    ------
    InputError
        If it is too large, empty, cut short, too deep or no JSON.
    """
    return parse_json(read_whole(path))


def parse_json(content: bytes) -> object:
    """Parse one JSON document.

    Raises
    ------
    InputError
        If it is empty, cut short, too deep or no JSON.
    """
    if not content.strip():
        raise InputError("is empty")
    text = decoded(content)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated"):
            raise InputError(f"is cut short: JSON ends in line {error.lineno}") from None
        raise InputError(f"is no JSON: line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise InputError("is JSON nested too deeply") from None
    except ValueError as error:
        # Python refuses integers of thousands of digits.
        raise InputError(f"is no usable JSON: {str(error)[:80]}") from None


def json_lines(path: Path) -> Iterator[tuple[int, object]]:
    """Line numbers, from 1, and documents of a JSON lines file; blank lines are skipped.

    Raises
    ------
    InputError
        At the line that is too long, cut short or no JSON.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise InputError(f"line {number} is longer than {LONGEST_LINE >> 20} MB")
            if not line.strip():
                continue
            try:
                yield number, parse_json(line)
            except InputError as error:
                if line.endswith(b"\n"):
                    what = str(error).replace("line 1: ", "")
                    raise InputError(f"line {number} {what}") from None
                raise InputError(f"is cut short in line {number}") from None


def as_object(value: object) -> JsonObject:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[object]:
    """Return the value if it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else ()


def as_text(value: object) -> str:
    """Return the value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def as_number(value: object) -> float:
    """Return the value if it is a number, else NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("nan")


def as_score(value: object) -> float:
    """Return the value if it is a number, 1 or 0 if it is a truth value, else NaN."""
    return float(value) if isinstance(value, bool) else as_number(value)


def inside(value: object, *keys: str) -> object:
    """Follow keys through nested objects; None where one is missing."""
    for key in keys:
        value = as_object(value).get(key)
    return value


LARGEST_ENTRY: Final = 64 << 20
"""Characters of one value or list element."""

_CHUNK: Final = 1 << 20
_SPACE: Final = " \t\r\n"
_CUT: Final = 16
"""A syntax error this near the end of what was read may only be for want of the rest."""


def object_entries(
    stream: BinaryIO, *, lists: Collection[str] = ()
) -> Iterator[tuple[str, object]]:
    """Keys and values of the outermost object, in order; NaN and Infinity are accepted.

    Parameters
    ----------
    stream : BinaryIO
        UTF-8.
    lists : collection of str
        Keys whose value, where it is a list, is given element by element under the key.

    Raises
    ------
    InputError
        If the stream is empty, cut short, nested too deeply or no JSON object.
    """
    text = _Text(stream)
    if not text.peek():
        raise InputError("is empty")
    text.expect("{")
    if text.peek() == "}":
        text.expect("}")
    else:
        while True:
            key = text.value()
            if not isinstance(key, str):
                raise InputError("is no JSON: a key is not text")
            text.expect(":")
            if key in lists and text.peek() == "[":
                for element in _elements(text):
                    yield key, element
            else:
                yield key, text.value()
            if text.expect(",}") == "}":
                break
    if text.peek():
        raise InputError("is no JSON: text follows its end")


def list_elements(stream: BinaryIO) -> Iterator[object]:
    """Elements of the outermost list.

    Raises
    ------
    InputError
        As `object_entries` does.
    """
    text = _Text(stream)
    if not text.peek():
        raise InputError("is empty")
    yield from _elements(text)
    if text.peek():
        raise InputError("is no JSON: text follows its end")


def _elements(text: "_Text") -> Iterator[object]:
    text.expect("[")
    if text.peek() == "]":
        text.expect("]")
        return
    while True:
        yield text.value()
        if text.expect(",]") == "]":
            return


class _Text:
    """Decoded text of a stream with a position in it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder()
        self._buffer = ""
        self._at = 0
        self._is_over = False

    def peek(self) -> str:
        """Next character that is not space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._read(_CHUNK):
                return ""

    def expect(self, characters: str) -> str:
        """Take the next character, which must be one of these."""
        found = self.peek()
        if not found:
            raise InputError("is cut short: the JSON does not end")
        if found not in characters:
            raise InputError(f"is no JSON: {found!r} stands where {characters[0]!r} should")
        self._at += 1
        return found

    def value(self) -> object:
        """Take the next value."""
        if not self.peek():
            raise InputError("is cut short: the JSON does not end")
        while True:
            value, end, problem = self._decoded()
            # A number at the end of the buffer may go on after it: ``1``, ``1.``, ``1e+``.
            rest = self._buffer[end : end + 3]
            whole = len(rest) > len("e+") or not set(rest) <= set(".eE+-")
            if problem is None and (whole or (self._is_over and not rest)):
                self._at = end
                return value
            if len(self._buffer) - self._at > LARGEST_ENTRY:
                raise InputError(f"has an entry of more than {LARGEST_ENTRY >> 20} MB")
            more = self._read(max(_CHUNK, len(self._buffer) - self._at))
            if not more and (problem is not None or rest):
                raise InputError("is cut short: the JSON does not end") from problem

    def _decoded(self) -> tuple[object, int, json.JSONDecodeError | None]:
        try:
            value, end = self._json.raw_decode(self._buffer, self._at)
        except json.JSONDecodeError as error:
            cut = error.pos >= len(self._buffer) - _CUT or error.msg.startswith("Unterminated")
            if not cut or (self._is_over and error.pos < len(self._buffer.rstrip(_SPACE))):
                if error.msg.startswith("Unterminated"):
                    raise InputError("is cut short: the JSON does not end") from None
                raise InputError(f"is no JSON: {error.msg}") from None
            return None, self._at, error
        except RecursionError:
            raise InputError("is JSON nested too deeply") from None
        except ValueError as error:
            # Python refuses integers of thousands of digits.
            raise InputError(f"is no usable JSON: {str(error)[:80]}") from None
        return value, end, None

    def _read(self, size: int) -> bool:
        """Read on; whether there was anything."""
        if self._is_over:
            return False
        content = self._stream.read(size)
        try:
            text = self._decoder.decode(content, final=not content)
        except UnicodeDecodeError:
            raise InputError("is not UTF-8") from None
        self._is_over = not content
        self._buffer = self._buffer[self._at :] + text
        self._at = 0
        return bool(content)
