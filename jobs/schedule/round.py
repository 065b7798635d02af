"""The scheduler's log: standard logging to stderr, one line per event, times in UTC."""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from threading import Event

from jobs.app.app import App
from jobs.app.config import Settings
from jobs.app.console import Console
from jobs.app.targets import Target, choose_targets
from jobs.nights.night import plan_night, run_night
from jobs.nights.recalibrate import NightFunction, recalibrate_night
from jobs.pages.nightly import publish_night
from jobs.schedule.full_runs import FullRuns, planned_full_runs
from jobs.schedule.ledger import (
    BACKUP,
    RECALIBRATE,
    REPORT,
    JobKey,
    Ledger,
    attempt_job,
    close_gone,
    failure_message,
    latest_only,
    plan_of,
    read_ledger,
)
from jobs.schedule.overdue import alert_changes, overdue_targets, write_alerts
from jobs.schedule.queue import SETTLED, Night, NightState, due_nights, latest_ahead, night_states
from jobs.schedule.watch_folders import FolderWatch, import_watched
from recurring_eval.errors import InputError
from storage.file.errors import HistoryLockedError
from storage.file.history import History
from storage.ledger import JobStatus, beat

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConsole(Console):
    """Console of the jobs of a daemon: notes become events, progress is left out."""

    def progress(self, text: str) -> None:
        """Leave it out; the log tells the outcome."""

    def note(self, text: str) -> None:
        """Log it."""
        log.warning("%s", text)


class OneLine(logging.Formatter):
    """Keeps every event on one line, so that a line can be found and counted."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return " ".join(super().format(record).split())


def start_logging(*, quiet: bool) -> None:
    """Send the events of the jobs to stderr; only warnings and errors if `quiet`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    for name, level in (("jobs", logging.INFO), ("apscheduler", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.WARNING if quiet else level)
        logger.propagate = False


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


HEARTBEAT = "schedule"


@dataclass(slots=True, kw_only=True)
class Worker:
    """What one scheduler process does; the functions can be replaced in tests.

    Attributes
    ----------
    app : App
    owner : str
        Name under which it takes leases.
    watch : FolderWatch
    full_runs : FullRuns
    back_up : callable or None
    run : callable
        Does one night.
    publish : callable
        Writes the page of one night.
    stopping : Event
        No further task is begun once it is set.
    """

    app: App
    owner: str
    watch: FolderWatch
    full_runs: FullRuns
    back_up: Callable[[App], Path] | None = None
    run: NightFunction = run_night
    publish: Callable[[App, Target, date], Path] = publish_night
    stopping: Event = field(default_factory=Event)
    _last_beat: datetime | None = None
    _told_ahead: datetime | None = None

    def __post_init__(self) -> None:
        settings = self.app.settings
        if self.back_up is None:
            schedule = settings.schedule.model_copy(update={"backup": False})
            settings = settings.model_copy(update={"schedule": schedule})
        self.app = replace(self.app, console=LogConsole(), settings=settings)

    def round(self) -> bool:
        """Do everything that is due; return False if anything failed."""
        steps = (self._import, self._tasks, self._full_runs, self._sign_of_life)
        results = []
        for step in steps:
            if self.stopping.is_set():
                break
            try:
                results.append(step())
            except HistoryLockedError as error:
                log.warning("%s; looking again later", error)
                results.append(False)
            except Exception as error:
                log.error("%s", failure_message(error))
                results.append(False)
        return all(results)

    def _import(self) -> bool:
        return import_watched(self.app, self.watch, owner=self.owner)

    def _tasks(self) -> bool:
        fine, tried = True, set[tuple[object, date]]()
        while not self.stopping.is_set():
            ledger, targets = self._read()
            waiting = [
                task
                for task in due_tasks(self.app.settings, ledger, targets, self.app.clock.now())
                if (task.key, task.night.date) not in tried
            ]
            if not waiting:
                break
            tried.add((waiting[0].key, waiting[0].night.date))
            fine = self._perform(waiting[0]) and fine
        return fine

    def _perform(self, task: Task) -> bool:
        try:
            if task.key.job == RECALIBRATE:
                return self._night(task)
            ended = attempt_job(
                self.app, task.key, task.night.date, lambda: self._work(task), owner=self.owner
            )
        except HistoryLockedError:
            raise
        except Exception as error:
            log.error("%s: %s", task, failure_message(error))
            return False
        if ended is None:
            return True
        status, message = ended
        log.log(_level(status is JobStatus.FAILED), "%s: %s; %s", task, status.value, message)
        return status is not JobStatus.FAILED

    def _night(self, task: Task) -> bool:
        target = Target(benchmark=task.key.benchmark, family=task.key.family)
        night = plan_night(
            self.app, target, task.night.date, window=None, new_subsets=False, supersede=False
        )
        result = recalibrate_night(self.app, night, owner=self.owner, done=SETTLED, run=self.run)
        failed = result.status == JobStatus.FAILED.value
        log.log(_level(failed), "%s: %s; %s", task, result.status, result.message)
        return not failed

    def _work(self, task: Task) -> str:
        if task.key.job == BACKUP and self.back_up is not None:
            return str(self.back_up(self.app))
        target = Target(benchmark=task.key.benchmark, family=task.key.family)
        return str(self.publish(self.app, target, task.night.date))

    def _read(self) -> tuple[Ledger, list[Target]]:
        with self.app.open_history(read_only=True) as history:
            ledger, targets = read_ledger(history), _targets(history)
        for run in close_gone(self.app, ledger):
            log.warning(
                "%s of %s for %s: its process %s has ended; taken up again",
                run.job,
                run.benchmark or "all",
                run.date,
                run.owner,
            )
            ledger = self._reread()
        self._tell_of_clock(ledger)
        return ledger, targets

    def _reread(self) -> Ledger:
        with self.app.open_history(read_only=True) as history:
            return read_ledger(history)

    def _tell_of_clock(self, ledger: Ledger) -> None:
        now = self.app.clock.now()
        ahead = latest_ahead((run for runs in ledger.values() for run in runs), now)
        if ahead is not None and ahead != self._told_ahead:
            log.warning(
                "the clock says %s but the ledger has an attempt at %s: the clock has gone "
                "backwards; nights that are done are not done again",
                f"{now:%Y-%m-%d %H:%M:%S}",
                f"{ahead:%Y-%m-%d %H:%M:%S}",
            )
        self._told_ahead = ahead

    def _full_runs(self) -> bool:
        fine = self.full_runs.look_after(self.app)
        with self.app.open_history(read_only=True) as history:
            targets = _targets(history)
            now = self.app.clock.now()
            planned = planned_full_runs(history, self.app.settings, targets, now)
            ledger = read_ledger(history) if planned else {}
        self.full_runs.start_due(self.app, ledger, planned)
        return fine

    def _sign_of_life(self) -> bool:
        now, schedule = self.app.clock.now(), self.app.settings.schedule
        with self.app.open_history(read_only=True) as history:
            targets = scheduled(self.app.settings, _targets(history))
            overdue = overdue_targets(read_ledger(history), targets, now, schedule.alert_after)
            opened, resolved = alert_changes(history, overdue, targets)
        # A last beat that lies ahead was noted before the clock went back.
        due = self._last_beat is None or not (
            self._last_beat <= now < self._last_beat + schedule.heartbeat_every
        )
        if due or opened or resolved:
            with self.app.open_history() as history, history.transaction():
                write_alerts(history, opened, resolved, now=now)
                beat(history, HEARTBEAT, now=now)
            self._last_beat = now
        for entry in opened:
            log.error("alert for %s: %s", entry.target, entry.message)
        if resolved:
            log.info("%d alerts resolved: recalibrated again", len(resolved))
        return True


def _targets(history: History) -> list[Target]:
    try:
        return choose_targets(history)
    except InputError:  # no runs yet
        return []


def _level(failed: bool) -> int:
    return logging.ERROR if failed else logging.INFO
