"""Times as evaluation tools write them."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

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


def time_of_file(path: Path) -> tuple[datetime, str]:
    """Time of the file itself, the last resort, with a note that says so."""
    moment = datetime.fromtimestamp(int(path.stat().st_mtime), tz=UTC)
    return moment, f"the log has no time; that of the file is taken, {moment:%Y-%m-%d %H:%M} UTC"
