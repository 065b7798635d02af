"""What the command line prints, and with which status it exits."""

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import date
from pathlib import PurePath
from typing import Final, TextIO

EXIT_ERROR: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Results on stdout; progress and notes on stderr.

    Attributes
    ----------
    as_json : bool
        Print one JSON document in place of the text for people.
    quiet : bool
        Leave out progress and notes. Results and errors are always printed.
    """

    as_json: bool = False
    quiet: bool = False

    def result(self, document: object, text: str | Iterable[str]) -> None:
        """Print the outcome of a command, once: the document or the text."""
        if self.as_json:
            _write(sys.stdout, to_json(document))
            return
        lines = [text] if isinstance(text, str) else list(text)
        if lines:
            _write(sys.stdout, "\n".join(lines))

    def progress(self, text: str) -> None:
        """Print on stderr what is going on."""
        if not self.quiet:
            _write(sys.stderr, text)

    def note(self, text: str) -> None:
        """Print on stderr what the user should know but need not act on."""
        self.progress(f"note: {text}")

    def error(self, text: str) -> None:
        """Print one line on stderr."""
        _write(sys.stderr, f"error: {' '.join(text.split())}")


def to_json(document: object) -> str:
    """Strict JSON of records, arrays, dates and paths; NaN and infinity become null."""
    return json.dumps(_plain(document), ensure_ascii=True, allow_nan=False)


def debugging() -> bool:
    """Whether tracebacks of unexpected errors are wanted."""
    return os.environ.get("RECURRING_EVAL_DEBUG", "") not in ("", "0")


def explain_unexpected(error: Exception) -> str:
    """One line about an error nobody raised on purpose."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"{place}{error.strerror}"
    return (
        f"unexpected {type(error).__name__}: {error}; "
        "set RECURRING_EVAL_DEBUG=1 to see where it comes from"
    )


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text + "\n")
    except UnicodeEncodeError:
        # An id with a character that the terminal cannot show must not stop a job.
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    to_list = getattr(value, "tolist", None)  # numpy arrays and scalars
    if to_list is not None:
        return _plain(to_list())
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")
