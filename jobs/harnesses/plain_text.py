"""Text from logs in a form that can be stored and shown."""

import hashlib
import json
import re
from typing import Final

from recurring_eval.errors import InputError

_LONGEST: Final = 300


def plain_text(value: object, *, longest: int = _LONGEST) -> str:
    """Text or number in one line without unreadable characters; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    try:
        text = str(value)
    except ValueError:
        return ""
    text = " ".join(
        text[: 4 * longest].encode(errors="replace").decode().replace("\0", " ").split()
    )
    return text if len(text) <= longest else text[: longest - 3] + "..."


def settings_text(**facts: object) -> str:
    """Facts that are known as ``key=value`` pairs."""
    texts = {key: plain_text(value) for key, value in facts.items()}
    return " ".join(f"{key}={text}" for key, text in texts.items() if text)


def digest(value: object) -> str:
    """Short hash of a JSON value, the same for objects with their keys in another order.

    Raises
    ------
    InputError
        If it is nested too deeply.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    except (RecursionError, ValueError):
        raise InputError("is JSON nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_timeout(text: object) -> bool:
    """Whether an error's name or message tells that time ran out."""
    return isinstance(text, str) and _TIMEOUT.search(text[:2000]) is not None


_TIMEOUT: Final = re.compile(r"time[ _-]?d?[ _-]?out|deadline exceeded", re.IGNORECASE)
