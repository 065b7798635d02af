"""JSON from files nobody vouches for: one clear line for whatever is wrong."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from recurring_eval.errors import InputError

MOST_BYTES: Final = 512 << 20
"""Files read at once; larger ones are streamed."""

LONGEST_LINE: Final = 64 << 20

JsonObject = Mapping[str, object]


def read_json(path: Path, *, most_bytes: int = MOST_BYTES) -> object:
    """Read a whole JSON file; NaN and Infinity are accepted.

    Raises
    ------
    InputError
        If it is too large, empty, cut short, too deep or no JSON.
    """
    size = path.stat().st_size
    if size > most_bytes:
        raise InputError(f"is too large to be read at once: {size >> 20:,} MB")
    return parse_json(path.read_bytes())


def parse_json(content: bytes) -> object:
    """Parse one JSON document.

    Raises
    ------
    InputError
        If it is empty, cut short, too deep or no JSON.
    """
    if not content.strip():
        raise InputError("is empty")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: byte {error.start:,} cannot be read") from None
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


def inside(value: object, *keys: str) -> object:
    """Follow keys through nested objects; None where one is missing."""
    for key in keys:
        value = as_object(value).get(key)
    return value
