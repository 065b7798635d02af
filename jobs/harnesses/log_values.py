"""Values from logs in a form that can be stored and shown: text, times, ids of questions."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from jobs.harnesses.verdict_rule import choose
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
    """Whether the name or message of an error is that of a timeout."""
    return isinstance(text, str) and TIMEOUT_WORDS.search(text[:2000]) is not None


TIMEOUT_WORDS: Final = re.compile(r"time[ _-]?d?[ _-]?out|deadline exceeded", re.IGNORECASE)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = 4_102_444_800.0
"""2100-01-01 in epoch seconds; larger numbers are milliseconds or nonsense."""


def read_time(value: object, timezone: str | None = None) -> datetime | None:
    """Aware UTC time of an ISO text or of epoch seconds or milliseconds; None if it is neither.

    A text without a zone is taken in `timezone`, by default UTC.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        seconds = float(value) if abs(value) < 1e15 else float("nan")
        seconds = seconds / 1000.0 if seconds > _LATEST else seconds
        return _EPOCH + timedelta(seconds=seconds) if 0 < seconds < _LATEST else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC if timezone is None else ZoneInfo(timezone))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def amount(value: object) -> float:
    """Amount of time or money, as a number or text; NaN for anything else or below 0."""
    try:
        number = float(value) if isinstance(value, str | int | float) else float("nan")
    except (ValueError, OverflowError):
        return float("nan")
    return number if 0.0 <= number < float("inf") else float("nan")


def seconds_between(start: datetime | None, end: datetime | None) -> float:
    """Seconds from start to end; NaN where one is unknown."""
    return (end - start).total_seconds() if start and end else float("nan")


_STAMP: Final = re.compile(
    r"(?<!\d)(20\d\d)[-_]?([01]\d)[-_]?([0-3]\d)"
    r"(?:[-_T ]+([0-2]\d)[-_:]?([0-5]\d)[-_:]?([0-5]\d))?(?!\d)"
)


def time_of_name(text: str, timezone: str | None) -> datetime | None:
    """Date, or date and time, in a name."""
    match = _STAMP.search(text)
    if match is None:
        return None
    year, month, day, *clock = match.groups()
    hour, minute, second = (part or "00" for part in clock)
    return read_time(f"{year}-{month}-{day}T{hour}:{minute}:{second}", timezone)


def dated(found: datetime | None, path: Path) -> tuple[datetime, list[str]]:
    """Time found for a log, else that of its file, the last resort, with a note on it."""
    if found is not None:
        return found, []
    moment = datetime.fromtimestamp(int(path.stat().st_mtime), tz=UTC)
    return moment, [f"the log has no time; that of the file is taken, {moment:%Y-%m-%d %H:%M} UTC"]


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
