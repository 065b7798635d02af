"""Slots: the instant at which the night of a date starts.

A night is keyed by the date it starts on in the zone of its slot. Every calendar
date has exactly one slot there, whatever the clocks of that zone do: a time of
day that is skipped in spring starts when the clocks go forward would have reached
it, one that comes twice in autumn starts the first time. Nothing here reads a
clock, and nothing counts hours from one night to the next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from storage.ledger import JobRun, JobStatus

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Time of day and zone of a benchmark's nights."""

    at: time
    zone: ZoneInfo

    def starts(self, day: date) -> datetime:
        """Instant (UTC) at which the night of a date is due."""
        return datetime.combine(day, self.at, tzinfo=self.zone).astimezone(UTC)

    def local_date(self, now: datetime) -> date:
        """Date in the slot's zone: the night a manual run belongs to."""
        return now.astimezone(self.zone).date()

    def last_night(self, now: datetime) -> date:
        """Date of the latest night that is due at `now`."""
        day = self.local_date(now) + _ONE_DAY
        while self.starts(day) > now:
            day -= _ONE_DAY
        return day

    def next_start(self, after: datetime) -> datetime:
        """First slot strictly later than `after`, in UTC."""
        day = self.last_night(after) + _ONE_DAY
        while self.starts(day) <= after:
            day += _ONE_DAY
        return self.starts(day)


MOST_INTERRUPTIONS: Final = 20
STOPPED: Final = "stopped"
LEASE_EXPIRED: Final = "lease expired"
PROCESS_GONE: Final = "process ended"
INTERRUPTED: Final = (STOPPED, LEASE_EXPIRED, PROCESS_GONE)
"""How the message of an attempt begins that was cut short."""

SETTLED: Final = (JobStatus.DONE, JobStatus.KEPT)


class NightState(StrEnum):
    """What is left to do for a night."""

    DUE = "due"
    WAITING = "waiting"
    """For the time of its next attempt."""
    RUNNING = "running"
    SETTLED = "settled"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPlan:
    """When a job's nights are and how often a failing one is tried.

    Attributes
    ----------
    slot : Slot
    attempts : int
        Failures after which a night is given up.
    retry_after, longest_retry : timedelta
        Wait after the first failure, doubled after each further one, and its limit.
    catch_up_days : int
        Missed nights further back than that are not made up for.
    lease : timedelta
        Longest honest time of one attempt.
    """

    slot: Slot
    attempts: int
    retry_after: timedelta
    longest_retry: timedelta
    catch_up_days: int
    lease: timedelta

    def wait_after(self, failures: int) -> timedelta:
        """Time to wait after the last of so many failures."""
        # Twenty doublings are over any limit, and many more would overflow.
        factor: int = 2 ** min(max(failures - 1, 0), 20)
        return min(self.retry_after * factor, self.longest_retry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night of one job.

    Attributes
    ----------
    date : date
    starts_at : datetime
        Its slot.
    state : NightState
    ready_at : datetime
        When the next attempt may start; the slot, before the first one.
    failures : int
    """

    date: date
    starts_at: datetime
    state: NightState
    ready_at: datetime
    failures: int


def night_states(attempts: Sequence[JobRun], plan: NightPlan, now: datetime) -> list[Night]:
    """Tell the state of every expected night up to `now`, oldest first.

    Parameters
    ----------
    attempts : sequence of JobRun
        Of one job, benchmark and family, in any order.
    plan : NightPlan
    now : datetime
        Aware.
    """
    by_date: dict[date, list[JobRun]] = {}
    for attempt in attempts:
        by_date.setdefault(attempt.date, []).append(attempt)
    return [
        night_state(by_date.get(day, []), day, plan.slot.starts(day), plan, now)
        for day in _expected(attempts, plan, now)
    ]


def due_nights(attempts: Sequence[JobRun], plan: NightPlan, now: datetime) -> list[Night]:
    """List the nights whose next attempt may start, oldest first."""
    return [n for n in night_states(attempts, plan, now) if n.state is NightState.DUE]


def next_attempt(attempts: Sequence[JobRun], plan: NightPlan, now: datetime) -> datetime:
    """Tell when the job is to be looked at next: now, after a wait, or at the next slot."""
    nights = night_states(attempts, plan, now)
    if any(night.state is NightState.DUE for night in nights):
        return now
    waits = [night.ready_at for night in nights if night.state is NightState.WAITING]
    return min([plan.slot.next_start(now), *waits])


def forgone_nights(attempts: Sequence[JobRun], plan: NightPlan, now: datetime) -> list[date]:
    """List missed nights that are too far back to be made up for."""
    first = _first_night(attempts, plan.slot, now)
    if first is None:
        return []
    end = plan.slot.last_night(now) - plan.catch_up_days * _ONE_DAY
    settled = {attempt.date for attempt in attempts if attempt.status in SETTLED}
    return [day for day in _days(first, end - _ONE_DAY) if day not in settled]


def latest_ahead(attempts: Iterable[JobRun], now: datetime) -> datetime | None:
    """Latest time in the ledger that has not come yet: a clock has gone backwards."""
    ahead = [attempt.started_at for attempt in attempts if attempt.started_at > now]
    return max(ahead, default=None)


def count_failures(attempts: Iterable[JobRun]) -> int:
    """Count the failed attempts that were not cut short."""
    return sum(
        attempt.status is JobStatus.FAILED and not _was_interrupted(attempt) for attempt in attempts
    )


def _expected(attempts: Sequence[JobRun], plan: NightPlan, now: datetime) -> list[date]:
    last = plan.slot.last_night(now)
    first = _first_night(attempts, plan.slot, now)
    if first is None:
        return [last]
    return _days(max(first, last - plan.catch_up_days * _ONE_DAY), last)


def _first_night(attempts: Sequence[JobRun], slot: Slot, now: datetime) -> date | None:
    # A manual run for a date long past is no night that was due then. The day's
    # tolerance lets the slot be moved without calling yesterday's night one of these.
    for attempt in sorted(attempts, key=lambda attempt: attempt.date):
        in_time = attempt.date >= slot.last_night(attempt.started_at) - _ONE_DAY
        if in_time and attempt.started_at <= now:
            return attempt.date
    return None


def night_state(
    attempts: Sequence[JobRun], day: date, starts_at: datetime, plan: NightPlan, now: datetime
) -> Night:
    """Tell the state of one night that is due since `starts_at` from its own attempts."""
    failures = count_failures(attempts)
    state, ready_at = NightState.DUE, starts_at
    if any(attempt.status in SETTLED for attempt in attempts):
        state = NightState.SETTLED
    elif any(attempt.is_held(now, plan.lease) for attempt in attempts):
        state = NightState.RUNNING
    elif failures >= plan.attempts or _interruptions(attempts) >= MOST_INTERRUPTIONS:
        state = NightState.GIVEN_UP
    elif attempts:
        ready_at = _ready_at(attempts, starts_at, plan)
        # No wait is longer than the longest; one that is was set by a clock ahead of ours.
        if now < ready_at <= now + plan.longest_retry:
            state = NightState.WAITING
    return Night(date=day, starts_at=starts_at, state=state, ready_at=ready_at, failures=failures)


def _ready_at(attempts: Sequence[JobRun], starts_at: datetime, plan: NightPlan) -> datetime:
    last = max(attempts, key=lambda attempt: attempt.attempt)
    if last.finished_at is None or _was_interrupted(last):
        return starts_at
    return last.retry_at or last.finished_at + plan.wait_after(count_failures(attempts))


def _was_interrupted(attempt: JobRun) -> bool:
    return attempt.message.startswith(INTERRUPTED)


def _interruptions(attempts: Iterable[JobRun]) -> int:
    return sum(a.status is JobStatus.FAILED and _was_interrupted(a) for a in attempts)


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]
