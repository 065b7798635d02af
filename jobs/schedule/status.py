"""What is planned, due, given up or overdue, from the ledger and the configuration alone.

No daemon needs to run for it: a schedule that nobody keeps shows as overdue.
"""

from dataclasses import dataclass
from datetime import datetime

from jobs.app.config import Settings
from jobs.app.targets import Target
from jobs.schedule.due import NightState, forgone_nights, scheduled_nights, slot_of
from jobs.schedule.full_runs import FullRunState, next_full_run
from jobs.schedule.ledger import HEARTBEAT, RECALIBRATE, JobKey, Ledger
from jobs.schedule.no_recalibration import no_recalibration
from storage.file.history import History
from storage.ledger import last_beat


@dataclass(frozen=True, slots=True, kw_only=True)
class NightOutlook:
    """Nights and full runs of one benchmark and family.

    Attributes
    ----------
    next_night_at : datetime or None
        Next slot; None when its nights are not scheduled.
    due : tuple of str
        Dates of the nights that may start now, oldest first.
    running : tuple of str
    retry_at : datetime or None
        Next attempt of a night that failed.
    failures : int
        Of that night.
    given_up : tuple of str
        Dates of nights that failed too often.
    n_forgone : int
        Missed nights too far back to be made up for.
    alert : str or None
        That there was no recalibration for too long.
    full_run_due_at : datetime or None
        None when no cadence is planned.
    full_run_state : FullRunState or None
    """

    next_night_at: datetime | None
    due: tuple[str, ...]
    running: tuple[str, ...]
    retry_at: datetime | None
    failures: int
    given_up: tuple[str, ...]
    n_forgone: int
    alert: str | None
    full_run_due_at: datetime | None
    full_run_state: FullRunState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStatus:
    """Whether a scheduler is at work.

    Attributes
    ----------
    last_heartbeat : datetime or None
        None if there was never one.
    alive : bool
        Whether the last sign of life is recent.
    """

    last_heartbeat: datetime | None
    alive: bool


def night_outlook(
    settings: Settings,
    ledger: Ledger,
    target: Target,
    *,
    last_full_run_at: datetime | None,
    now: datetime,
) -> NightOutlook:
    """Find what is planned and what is late for one benchmark and family."""
    nights = settings.nights_of(target.benchmark)
    attempts = ledger.get(JobKey(job=RECALIBRATE, target=target), [])
    expected = []
    if nights.enabled:
        expected = scheduled_nights(attempts, nights, now, lease=settings.schedule.lease)
    dates = {
        state: tuple(str(night.date) for night in expected if night.state is state)
        for state in NightState
    }
    waiting = [night for night in expected if night.state is NightState.WAITING]
    next_try = min(waiting, key=lambda night: night.ready_at, default=None)
    full_run = None
    if nights.full_run_every is not None and last_full_run_at is not None:
        full_run = next_full_run(last_full_run_at, nights.full_run_every, now)
    return NightOutlook(
        next_night_at=slot_of(nights).next_start(now) if nights.enabled else None,
        due=dates[NightState.DUE],
        running=dates[NightState.RUNNING],
        retry_at=None if next_try is None else next_try.ready_at,
        failures=0 if next_try is None else next_try.failures,
        given_up=dates[NightState.GIVEN_UP],
        n_forgone=len(forgone_nights(attempts, nights, now)) if nights.enabled else 0,
        alert=no_recalibration(attempts, now, settings.schedule.alert_after),
        full_run_due_at=None if full_run is None else full_run.due_at,
        full_run_state=None if full_run is None else full_run.state,
    )


def scheduler_status(history: History, settings: Settings, now: datetime) -> SchedulerStatus:
    """Find when a scheduler last gave a sign of life."""
    last = last_beat(history, HEARTBEAT)
    recent = 3 * max(settings.schedule.heartbeat_every, settings.schedule.check_every)
    return SchedulerStatus(last_heartbeat=last, alive=last is not None and now - last < recent)


def describe_outlook(outlook: NightOutlook) -> list[str]:
    """Lines for people; what calls for action comes first."""
    lines = []
    if outlook.alert is not None:
        lines.append(f"  ALERT: {outlook.alert}")
    if outlook.due:
        more = f" to {outlook.due[-1]}, {len(outlook.due)} nights" if len(outlook.due) > 1 else ""
        lines.append(
            f"  overdue: {outlook.due[0]}{more}; "
            "a running `recurring-eval schedule` makes up for it"
        )
    if outlook.given_up:
        lines.append(
            f"  given up after too many failures: {', '.join(outlook.given_up)}; "
            "`recurring-eval recalibrate --as-of DATE` tries again"
        )
    if outlook.n_forgone:
        lines.append(f"  {outlook.n_forgone} nights missed too long ago to be made up for")
    if outlook.next_night_at is not None:
        parts = [f"next night {outlook.next_night_at:%Y-%m-%d %H:%M} UTC"]
        if outlook.running:
            parts.append(f"at work on {', '.join(outlook.running)}")
        if outlook.retry_at is not None:
            times = "failure" if outlook.failures == 1 else "failures"
            parts.append(
                f"next attempt {outlook.retry_at:%Y-%m-%d %H:%M} UTC "
                f"after {outlook.failures} {times}"
            )
        lines.append(f"  {'; '.join(parts)}")
    if outlook.full_run_due_at is not None and outlook.full_run_state is not None:
        lines.append(
            f"  full run {outlook.full_run_state.value}: "
            f"{outlook.full_run_due_at:%Y-%m-%d %H:%M} UTC"
        )
    return lines


def describe_scheduler(status: SchedulerStatus, now: datetime) -> str:
    """Line for people: whether a scheduler is at work."""
    if status.last_heartbeat is None:
        return "scheduler: no sign of life yet; start one with `recurring-eval schedule`"
    minutes = max(0.0, (now - status.last_heartbeat).total_seconds() / 60)
    ago = f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
    state = "at work" if status.alive else "not at work"
    return (
        f"scheduler: {state}, last sign of life {status.last_heartbeat:%Y-%m-%d %H:%M} UTC, "
        f"{ago} ago"
    )
