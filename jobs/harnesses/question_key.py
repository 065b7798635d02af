"""Ids of questions exactly as logged, with their type."""

import json
import re
from typing import Final

from recurring_eval.errors import InputError

LONGEST_ID: Final = 2000
"""Characters; a longer id is a damaged file or an attack."""

# Escape codes would act on the terminal that shows the id; tabs and line ends only look odd.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)")


def question_key(logged: object, *, typed: bool = True) -> str:
    """Key of a question: its id as text, distinct for distinct ids.

    The number 7 becomes ``7``, the text "007" ``007``; the text "7" becomes
    ``"7"`` with the quotes, because the number has the bare form. Tools whose
    ids are always text pass ``typed=False`` and keep it bare.

    Raises
    ------
    InputError
        For an id that is neither text nor an integer, empty, too long or unreadable.
    """
    if isinstance(logged, int) and not isinstance(logged, bool):
        if logged.bit_length() > 256:
            raise InputError("an id is a number of more than 77 digits; write ids as text")
        return str(logged)
    if not isinstance(logged, str):
        raise InputError(f"{logged!r:.60} is a {type(logged).__name__}, not the id of a question")
    check_id(logged)
    return json.dumps(logged) if typed and _INTEGER.fullmatch(logged) else logged


def logged_id(key: str) -> str | int:
    """Opposite of `question_key` for typed ids."""
    if _INTEGER.fullmatch(key):
        return int(key)
    return key[1:-1] if key[:1] == '"' and _INTEGER.fullmatch(key[1:-1]) else key


def check_id(text: str) -> None:
    """Refuse an id that cannot be stored or shown.

    Raises
    ------
    InputError
        Saying what is wrong with it.
    """
    if not text.strip():
        raise InputError("a question has an empty id")
    if len(text) > LONGEST_ID:
        raise InputError(
            f"the id {text[:40]!r}... has {len(text):,} characters; at most {LONGEST_ID:,} are read"
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the id {text[:40]!r} has an unreadable character") from None
    if _CONTROL.search(text):
        raise InputError(f"the id {text[:40]!r} has an unreadable character")
