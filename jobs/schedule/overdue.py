"""The alert about a benchmark that was not recalibrated for too long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from jobs.app.targets import Target
from jobs.schedule.ledger import RECALIBRATE, JobKey, Ledger
from storage.file.history import History
from storage.ledger import JobRun, JobStatus, list_alerts, open_alert, resolve_alert

RULE: Final = "no-recalibration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A benchmark and family without a successful night for too long."""

    target: Target
    message: str


def idle_since(attempts: Sequence[JobRun], now: datetime) -> datetime | None:
    """When the last night succeeded; before any did, when the first was attempted.

    A night that kept the former model is no success, unless there was never one to
    keep: too few runs for a first model is a state, not an incident. Endings that a
    clock ahead of ours noted do not count.
    """
    for status in (JobStatus.DONE, JobStatus.KEPT):
        ended = [
            attempt.finished_at
            for attempt in attempts
            if attempt.status is status and attempt.finished_at and attempt.finished_at <= now
        ]
        if ended:
            return max(ended)
    return min((attempt.started_at for attempt in attempts), default=None)


def overdue_message(
    attempts: Sequence[JobRun], now: datetime, alert_after: timedelta
) -> str | None:
    """Say that there was no recalibration for too long, and why; None if there was."""
    since = idle_since(attempts, now)
    if since is None or now - since < alert_after:
        return None
    hours = (now - since).total_seconds() / 3600
    last = max(attempts, key=lambda attempt: (attempt.started_at, attempt.job_run_id))
    why = f"{last.date} {last.status.value}" + (f": {last.message}" if last.message else "")
    return f"no recalibration for {hours:.0f} h; last attempt {why}"


def overdue_targets(
    ledger: Ledger, targets: Sequence[Target], now: datetime, alert_after: timedelta
) -> list[Overdue]:
    """List the targets without a successful night for too long."""
    found = []
    for target in targets:
        key = JobKey(job=RECALIBRATE, benchmark=target.benchmark, family=target.family)
        message = overdue_message(ledger.get(key, []), now, alert_after)
        if message is not None:
            found.append(Overdue(target=target, message=message))
    return found


def alert_changes(
    history: History, overdue: Sequence[Overdue], targets: Sequence[Target]
) -> tuple[list[Overdue], list[int]]:
    """Alerts to open, and ids of those to resolve."""
    standing = {
        (alert.benchmark, alert.agent_family): alert.alert_id
        for alert in list_alerts(history)
        if alert.rule == RULE
    }
    wanted = {entry.target.key for entry in overdue}
    watched = {target.key for target in targets}
    return (
        [entry for entry in overdue if entry.target.key not in standing],
        [number for key, number in standing.items() if key in watched and key not in wanted],
    )


def write_alerts(
    history: History, opened: Sequence[Overdue], resolved: Sequence[int], *, now: datetime
) -> None:
    """Open and resolve alerts, inside the caller's transaction."""
    for entry in opened:
        open_alert(
            history,
            benchmark=entry.target.benchmark,
            family=entry.target.family,
            rule=RULE,
            subject="night",
            message=entry.message,
            now=now,
        )
    for number in resolved:
        resolve_alert(history, number, now=now)
