"""When a run was whose log does not say."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from jobs.harnesses.times import read_time

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
