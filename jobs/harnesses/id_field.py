"""Which field of a tool's free-form records identifies a question."""

from collections.abc import Mapping, Sequence
from typing import Final

from jobs.harnesses.plain_text import digest
from jobs.harnesses.question_key import question_key
from jobs.harnesses.verdict_rule import choose
from recurring_eval.errors import InputError

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
