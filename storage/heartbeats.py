"""Signs of life of processes that run for long."""

from datetime import datetime

from storage.history import History
from storage.times import from_store, to_utc


def beat(history: History, process: str, *, now: datetime) -> None:
    """Note that a process lives, inside the caller's transaction."""
    moment = to_utc(now, "`now`")
    if last_beat(history, process) is None:
        history.insert_row("heartbeat", process=process, beat_at=moment)
    else:
        history.execute("UPDATE heartbeat SET beat_at = ? WHERE process = ?", [moment, process])


def last_beat(history: History, process: str) -> datetime | None:
    """Last sign of life of a process, None if it never gave one."""
    rows = history.rows("SELECT max(beat_at) FROM heartbeat WHERE process = ?", [process])
    moment: datetime | None = from_store(rows[0][0])
    return moment
