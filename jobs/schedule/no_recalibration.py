"""The alert `no-recalibration`: a benchmark without a successful night for 36 hours."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from jobs.app.targets import Target
from jobs.schedule.ledger import RECALIBRATE, JobKey, Ledger
from storage.file.history import History
from storage.ledger import JobRun, JobStatus, list_alerts, open_alert, resolve_alert

RULE: Final = "no-recalibration"


def _idle_since(attempts: Sequence[JobRun], now: datetime) -> datetime | None:
    """When the last night succeeded; before any did, when the first was attempted.

    A night that kept the previous model is no success, unless there was never one to
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


def no_recalibration(
    attempts: Sequence[JobRun], now: datetime, alert_after: timedelta
) -> str | None:
    """Message that there was no recalibration for too long, and why; None if there was."""
    since = _idle_since(attempts, now)
    if since is None or now - since < alert_after:
        return None
    hours = (now - since).total_seconds() / 3600
    last = max(attempts, key=lambda attempt: (attempt.started_at, attempt.job_run_id))
    why = f"{last.date} {last.status.value}" + (f": {last.message}" if last.message else "")
    return f"no recalibration for {hours:.0f} h; last attempt {why}"


def alert_changes(
    history: History,
    ledger: Ledger,
    targets: Sequence[Target],
    *,
    now: datetime,
    alert_after: timedelta,
) -> tuple[dict[Target, str], list[int]]:
    """Messages of the alerts to open, and ids of those to resolve."""
    messages = {}
    for target in targets:
        attempts = ledger.get(JobKey(job=RECALIBRATE, target=target), [])
        if message := no_recalibration(attempts, now, alert_after):
            messages[target] = message
    standing = {
        Target(benchmark=alert.benchmark, family=alert.agent_family): alert.alert_id
        for alert in list_alerts(history)
        if alert.rule == RULE
    }
    return (
        {target: message for target, message in messages.items() if target not in standing},
        [n for target, n in standing.items() if target in targets and target not in messages],
    )


def write_alerts(
    history: History, opened: Mapping[Target, str], resolved: Sequence[int], *, now: datetime
) -> None:
    """Open and resolve alerts, inside the caller's transaction."""
    for target, message in opened.items():
        open_alert(
            history,
            benchmark=target.benchmark,
            family=target.family,
            rule=RULE,
            subject="night",
            message=message,
            now=now,
        )
    for number in resolved:
        resolve_alert(history, number, now=now)
