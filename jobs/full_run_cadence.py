"""When the next full run of a benchmark is planned."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

OVERDUE_AFTER: Final = timedelta(days=1)


class FullRunState(StrEnum):
    """Whether a full run should start."""

    PLANNED = "planned"
    DUE = "due"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True, kw_only=True)
class FullRunDue:
    """The next planned full run.

    Attributes
    ----------
    due_at : datetime
        One period after the last full run.
    state : FullRunState
        Overdue from a day after `due_at`.
    key_date : date
        Keys the attempts to start it. While no full run is imported it moves on
        by whole periods, so that a command that brought nothing is tried again.
    """

    due_at: datetime
    state: FullRunState
    key_date: date


def full_run_due(last_started: datetime, every: timedelta, now: datetime) -> FullRunDue:
    """Tell when the next full run is due after the last one."""
    due_at = last_started + every
    periods = max(0, (now - due_at) // every)
    state = FullRunState.PLANNED
    if now >= due_at:
        state = FullRunState.DUE if now < due_at + OVERDUE_AFTER else FullRunState.OVERDUE
    return FullRunDue(due_at=due_at, state=state, key_date=(due_at + periods * every).date())
