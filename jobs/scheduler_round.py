"""One round of the scheduler: look at the ledger, do what is due, note a sign of life.

The guarantee. Every night of every benchmark and family is done exactly once, and
every attempt is in the ledger:

* What is due is worked out afresh in each round from the ledger (`nightly_queue`);
  a timer only decides when to look. A missed timer, a restart, a machine that slept
  or clocks that changed can delay a night but cannot lose it.
* An attempt begins by taking a lease in a transaction of the history, which one
  process at a time can write. Of two schedulers, or a scheduler and a manual run,
  one gets it; the other finds the night at work or done.
* The result and the word "done" are stored in one transaction that first checks that
  the lease is still held. A process that was killed, or was so slow that another took
  over, stores nothing.
* A failure is noted with the time of the next attempt and concerns no other benchmark.

Rounds of one process run one after the other in one thread.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from threading import Event

from jobs.app import App
from jobs.due_tasks import Task, due_tasks, scheduled
from jobs.full_runs import FullRuns, planned_full_runs
from jobs.job_ledger import (
    BACKUP,
    RECALIBRATE,
    Ledger,
    attempt_job,
    close_gone,
    failure_message,
    read_ledger,
)
from jobs.night import plan_night, run_night
from jobs.nightly_queue import SETTLED, latest_ahead
from jobs.overdue_alert import alert_changes, overdue_targets, write_alerts
from jobs.publish_report import publish_night
from jobs.recalibrate import NightFunction, recalibrate_night
from jobs.schedule_log import LogConsole
from jobs.targets import Target, choose_targets
from jobs.watch_folders import FolderWatch, import_watched
from recurring_eval.errors import InputError
from storage.errors import HistoryLockedError
from storage.history import History
from storage.job_runs import JobStatus, beat

log = logging.getLogger(__name__)

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
