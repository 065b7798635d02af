"""Ids of questions exactly as logged, with their type."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from jobs.harnesses.plain_text import digest
from jobs.harnesses.verdict_rule import choose
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


ID_NAMES: Final = (
    *("question_id", "qid", "id", "test_id", "case_id", "task_id", "item_id", "sample_id"),
    *("instance_id", "example_id", "uid", "question_key"),
)
"""Names that mean an id wherever they are met, in order of preference."""

CONTENT: Final = "content"
"""In place of a field: the hash of all that is asked."""

Record = Mapping[str, object]


def choose_id_field(
    records: Sequence[Record], contents: Sequence[object], chosen: str | None, *, last: str = ""
) -> str:
    """Name of the field to take, `CONTENT` for none.

    Parameters
    ----------
    records : sequence of mapping
        Field -> value, by dotted names such as ``vars.id``.
    contents : sequence
        What is asked, aligned; the same for the same question.
    chosen : str or None
        The rule's answer.
    last : str
        A field to fall back on before the hash, if it tells the contents apart.

    Raises
    ------
    InputError
        If the chosen field does not exist.
    """
    fields = list(dict.fromkeys(field for record in records for field in record))
    if chosen is not None and chosen != CONTENT and chosen not in fields:
        # Another form of the same log may keep the same field elsewhere.
        tail = chosen.rpartition(".")[2]
        chosen = next((field for field in fields if field.rpartition(".")[2] == tail), chosen)
    if chosen is not None:
        return choose("field", [*fields, CONTENT], chosen, option="--question")
    for name in ID_NAMES:
        for field in fields:
            if field.rpartition(".")[2].lower() == name and _identifies(records, contents, field):
                return field
    return last if last in fields and _identifies(records, contents, last) else CONTENT


def keys_of(records: Sequence[Record], contents: Sequence[object], field: str) -> list[str]:
    """Key of each record's question.

    Raises
    ------
    InputError
        If one has no id in the field.
    """
    if field == CONTENT:
        return [f"content-{digest(content)}" for content in contents]
    keys = []
    for number, record in enumerate(records, start=1):
        if record.get(field) is None:
            raise InputError(
                f"row {number} has no field {field!r}; name another field with --question, "
                f"or {CONTENT!r} for a hash of what is asked"
            )
        keys.append(question_key(record[field]))
    return keys


def _identifies(records: Sequence[Record], contents: Sequence[object], field: str) -> bool:
    """Whether the field is filled everywhere and differs exactly where the contents do."""
    by_value: dict[object, str] = {}
    by_content: dict[str, object] = {}
    for record, content in zip(records, contents, strict=True):
        value = record.get(field)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            return False
        told = digest(content)
        if by_value.setdefault(value, told) != told or by_content.setdefault(told, value) != value:
            return False
    return bool(by_value)
