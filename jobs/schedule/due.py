"""What is due: from the ledger, the settings and the current time, never from a timer.

A night is keyed by the date it starts on in the zone of its slot. Every calendar
date has exactly one slot there, whatever the clocks of that zone do: a time of
day that is skipped in spring starts when the clocks go forward would have reached
it, one that comes twice in autumn starts the first time. Nothing here reads a
clock, and nothing counts hours from one night to the next.

Reports and backups are keyed by nights as well, and are due and tried again like them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from jobs.app.config import Settings
from jobs.app.config_schedule import NightSettings
from jobs.app.targets import Target
from jobs.schedule.ledger import (
    BACKUP,
    RECALIBRATE,
    REPORT,
    SETTLED,
    JobKey,
    Ledger,
    count_failures,
    wait_after,
    was_interrupted,
)
from storage.ledger import JobRun

MOST_INTERRUPTIONS: Final = 20
_ONE_DAY: Final = timedelta(days=1)


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


def slot_of(nights: NightSettings) -> Slot:
    """Slot of a benchmark's nights."""
    return Slot(at=nights.at, zone=ZoneInfo(nights.zone))


class NightState(StrEnum):
    """What is left to do for a night."""

    DUE = "due"
    WAITING = "waiting"
    """For the time of its next attempt."""
    RUNNING = "running"
    SETTLED = "settled"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledNight:
    """One night of one job, as the ledger has it.

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


def scheduled_nights(
    attempts: Sequence[JobRun], nights: NightSettings, now: datetime, *, lease: timedelta
) -> list[ScheduledNight]:
    """List every expected night up to `now` with its state, oldest first.

    Parameters
    ----------
    attempts : sequence of JobRun
        Of one job, benchmark and family, in any order.
    nights : NightSettings
    now : datetime
        Aware.
    lease : timedelta
        Longest honest time of one attempt.
    """
    by_date: dict[date, list[JobRun]] = {}
    for attempt in attempts:
        by_date.setdefault(attempt.date, []).append(attempt)
    slot = slot_of(nights)
    last, first = slot.last_night(now), _first_night(attempts, slot, now)
    begin = last if first is None else max(first, last - nights.catch_up_days * _ONE_DAY)
    return [
        scheduled_night(by_date.get(day, []), day, slot.starts(day), nights, now, lease=lease)
        for day in _days(begin, last)
    ]


def scheduled_night(
    attempts: Sequence[JobRun],
    day: date,
    starts_at: datetime,
    nights: NightSettings,
    now: datetime,
    *,
    lease: timedelta,
) -> ScheduledNight:
    """Find the state of one night that is due since `starts_at` from its own attempts."""
    failures, interruptions = count_failures(attempts), sum(map(was_interrupted, attempts))
    state, ready_at = NightState.DUE, starts_at
    if any(attempt.status in SETTLED for attempt in attempts):
        state = NightState.SETTLED
    elif any(attempt.is_held(now, lease) for attempt in attempts):
        state = NightState.RUNNING
    elif failures >= nights.attempts or interruptions >= MOST_INTERRUPTIONS:
        state = NightState.GIVEN_UP
    elif attempts:
        last = max(attempts, key=lambda attempt: attempt.attempt)
        if last.finished_at is not None and not was_interrupted(last):
            ready_at = last.retry_at or last.finished_at + wait_after(failures, nights)
        # No wait is longer than the longest; one that is was set by a clock ahead of ours.
        if now < ready_at <= now + nights.longest_retry:
            state = NightState.WAITING
    return ScheduledNight(
        date=day, starts_at=starts_at, state=state, ready_at=ready_at, failures=failures
    )


def forgone_nights(attempts: Sequence[JobRun], nights: NightSettings, now: datetime) -> list[date]:
    """List missed nights that are too far back to be made up for."""
    slot = slot_of(nights)
    first = _first_night(attempts, slot, now)
    if first is None:
        return []
    end = slot.last_night(now) - nights.catch_up_days * _ONE_DAY
    settled = {attempt.date for attempt in attempts if attempt.status in SETTLED}
    return [day for day in _days(first, end - _ONE_DAY) if day not in settled]


def latest_ahead(attempts: Iterable[JobRun], now: datetime) -> datetime | None:
    """Latest start in the ledger that lies in the future: a clock has gone backwards."""
    ahead = [attempt.started_at for attempt in attempts if attempt.started_at > now]
    return max(ahead, default=None)


def _first_night(attempts: Sequence[JobRun], slot: Slot, now: datetime) -> date | None:
    # A manual run for a date long past is no night that was due then. The day's
    # tolerance lets the slot be moved without calling yesterday's night one of these.
    for attempt in sorted(attempts, key=lambda attempt: attempt.date):
        in_time = attempt.date >= slot.last_night(attempt.started_at) - _ONE_DAY
        if in_time and attempt.started_at <= now:
            return attempt.date
    return None


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DueJob:
    """One job of one night that may start."""

    key: JobKey
    night: ScheduledNight

    def __str__(self) -> str:
        return f"{self.key} for {self.night.date}"


def due_jobs(
    settings: Settings, ledger: Ledger, targets: Sequence[Target], now: datetime
) -> list[DueJob]:
    """List what may start, in the order to do it.

    First nights, the oldest first; then the pages of settled nights; and when no
    night is due or at work, one backup for the latest date.

    Parameters
    ----------
    settings : Settings
    ledger : Ledger
    targets : sequence of Target
        Those whose nights are scheduled.
    now : datetime
    """

    def nights_of(key: JobKey, nights: NightSettings) -> list[ScheduledNight]:
        return scheduled_nights(ledger.get(key, []), nights, now, lease=settings.schedule.lease)

    due: list[DueJob] = []
    pages: list[DueJob] = []
    at_work = False
    for target in targets:
        nights = settings.nights_of(target.benchmark)
        key, page = JobKey(job=RECALIBRATE, target=target), JobKey(job=REPORT, target=target)
        found = nights_of(key, nights)
        due += [DueJob(key=key, night=n) for n in found if n.state is NightState.DUE]
        at_work = at_work or any(n.state is NightState.RUNNING for n in found)
        if settings.schedule.report:
            settled = {run.date for run in ledger.get(key, []) if run.status in SETTLED}
            pages += [
                DueJob(key=page, night=n)
                for n in nights_of(page, nights)
                if n.state is NightState.DUE and n.date in settled
            ]
    jobs = sorted(due, key=_order) + sorted(pages, key=_order)
    if settings.schedule.backup and not due and not at_work:
        # A missed backup need not be made up for.
        latest = settings.nights_of("").model_copy(update={"catch_up_days": 0})
        key = JobKey(job=BACKUP)
        found = nights_of(key, latest)
        jobs += [DueJob(key=key, night=n) for n in found if n.state is NightState.DUE]
    return jobs


def _order(job: DueJob) -> tuple[datetime, str, str]:
    return job.night.starts_at, job.key.benchmark, job.key.family
