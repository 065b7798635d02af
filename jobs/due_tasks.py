"""What the scheduler has to do now, from ledger, settings and time alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.config import Settings
from jobs.job_ledger import BACKUP, RECALIBRATE, REPORT, JobKey, Ledger, latest_only, plan_of
from jobs.nightly_queue import SETTLED, Night, NightState, due_nights, night_states
from jobs.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One job of one night that may start."""

    key: JobKey
    night: Night

    def __str__(self) -> str:
        return f"{self.key} for {self.night.date}"


def scheduled(settings: Settings, targets: Sequence[Target]) -> list[Target]:
    """Benchmarks and families whose nights the scheduler looks after."""
    return [target for target in targets if settings.nights_of(target.benchmark).enabled]


def due_tasks(
    settings: Settings, ledger: Ledger, targets: Sequence[Target], now: datetime
) -> list[Task]:
    """List what may start, in the order to do it.

    First nights, the oldest first; then the pages of settled nights; and when no
    night is due or at work, one backup for the latest date.
    """
    mine = scheduled(settings, targets)
    nights = [task for target in mine for task in _tasks(settings, ledger, target, now)]
    pages = []
    if settings.schedule.report:
        pages = [task for target in mine for task in _pages(settings, ledger, target, now)]
    tasks = sorted(nights, key=_order) + sorted(pages, key=_order)
    if settings.schedule.backup and not nights and not _at_work(settings, ledger, mine, now):
        key = JobKey(job=BACKUP)
        plan = latest_only(plan_of(settings, ""))
        tasks += [Task(key=key, night=n) for n in due_nights(ledger.get(key, []), plan, now)]
    return tasks


def _tasks(settings: Settings, ledger: Ledger, target: Target, now: datetime) -> list[Task]:
    key = JobKey(job=RECALIBRATE, benchmark=target.benchmark, family=target.family)
    plan = plan_of(settings, target.benchmark)
    return [Task(key=key, night=night) for night in due_nights(ledger.get(key, []), plan, now)]


def _pages(settings: Settings, ledger: Ledger, target: Target, now: datetime) -> list[Task]:
    nights = JobKey(job=RECALIBRATE, benchmark=target.benchmark, family=target.family)
    settled = {run.date for run in ledger.get(nights, []) if run.status in SETTLED}
    key = JobKey(job=REPORT, benchmark=target.benchmark, family=target.family)
    due = due_nights(ledger.get(key, []), plan_of(settings, target.benchmark), now)
    return [Task(key=key, night=night) for night in due if night.date in settled]


def _at_work(settings: Settings, ledger: Ledger, targets: Sequence[Target], now: datetime) -> bool:
    return any(
        night.state is NightState.RUNNING
        for target in targets
        for night in night_states(
            ledger.get(
                JobKey(job=RECALIBRATE, benchmark=target.benchmark, family=target.family), []
            ),
            plan_of(settings, target.benchmark),
            now,
        )
    )


def _order(task: Task) -> tuple[datetime, str, str]:
    return task.night.starts_at, task.key.benchmark, task.key.family
