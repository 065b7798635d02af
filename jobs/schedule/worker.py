"""One round of the scheduler: import, nights with pages and backup, full runs, sign of life.

What is due is read from the ledger before every job, and every job holds a lease, so a
round may be cut short, repeated or run beside another scheduler's. Its log goes to stderr
by standard logging, one line per event, times in UTC.
"""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from threading import Event

from jobs.app.app import App
from jobs.app.console import Console
from jobs.app.targets import Target, choose_targets
from jobs.nights.night import plan_night, run_night
from jobs.nights.recalibrate import NightFunction, recalibrate_night
from jobs.pages.nightly import publish_night
from jobs.schedule.due import DueJob, due_jobs, latest_ahead
from jobs.schedule.full_runs import FullRuns, planned_full_runs
from jobs.schedule.ledger import (
    HEARTBEAT,
    RECALIBRATE,
    SETTLED,
    Ledger,
    attempt_job,
    close_gone,
    failure_message,
    read_ledger,
)
from jobs.schedule.no_recalibration import alert_changes, write_alerts
from jobs.schedule.watch_folders import FolderWatch, import_watched
from jobs.upkeep.backups import back_up
from recurring_eval.errors import InputError
from storage.file.errors import HistoryLockedError
from storage.file.history import History
from storage.ledger import JobStatus, beat

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConsole(Console):
    """Console of the jobs of a daemon: notes become events, progress is left out."""

    def progress(self, text: str) -> None:
        """Leave it out; the outcome is logged."""

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


def _back_up(app: App) -> Path:
    return back_up(app).backup


@dataclass(slots=True, kw_only=True)
class Worker:
    """What one scheduler process does; the functions can be replaced in tests.

    Attributes
    ----------
    app : App
    owner : str
        Name under which it takes leases.
    run : callable
        Does one night.
    publish : callable
        Writes the page of one night.
    back_up : callable
    stopping : Event
        No further job is begun once it is set.
    watch : FolderWatch
    full_runs : FullRuns
    """

    app: App
    owner: str
    run: NightFunction = run_night
    publish: Callable[[App, Target, date], Path] = publish_night
    back_up: Callable[[App], Path] = _back_up
    stopping: Event = field(default_factory=Event)
    watch: FolderWatch = field(init=False)
    full_runs: FullRuns = field(init=False)
    _last_beat: datetime | None = None
    _warned_ahead: datetime | None = None

    def __post_init__(self) -> None:
        self.app = replace(self.app, console=LogConsole())
        self.watch = FolderWatch(watches=self.app.settings.watch)
        self.full_runs = FullRuns(owner=self.owner)

    def round(self) -> bool:
        """Do everything that is due; return False if anything failed."""
        steps = (self._import, self._due_jobs, self._full_runs, self._sign_of_life)
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

    def _due_jobs(self) -> bool:
        fine, tried = True, set[tuple[object, date]]()
        while not self.stopping.is_set():
            ledger, targets = self._read()
            now = self.app.clock.now()
            waiting = [
                job
                for job in due_jobs(self.app.settings, ledger, targets, now)
                if (job.key, job.night.date) not in tried
            ]
            if not waiting:
                break
            tried.add((waiting[0].key, waiting[0].night.date))
            fine = self._perform(waiting[0]) and fine
        return fine

    def _perform(self, job: DueJob) -> bool:
        day, target = job.night.date, job.key.target

        def work(_attempt: int) -> str:
            if target is None:
                return str(self.back_up(self.app))
            return str(self.publish(self.app, target, day))

        try:
            if target is not None and job.key.job == RECALIBRATE:
                night = plan_night(self.app, target, day)
                result = recalibrate_night(
                    self.app, night, owner=self.owner, done=SETTLED, run=self.run
                )
                status, message = result.status, result.message
            else:
                ended = attempt_job(self.app, job.key, day, work, owner=self.owner)
                if ended is None:
                    return True
                status, message = ended
        except HistoryLockedError:
            raise
        except Exception as error:
            log.error("%s: %s", job, failure_message(error))
            return False
        failed = status == JobStatus.FAILED
        log.log(logging.ERROR if failed else logging.INFO, "%s: %s; %s", job, status, message)
        return not failed

    def _read(self) -> tuple[Ledger, list[Target]]:
        ledger, targets = self._read_history()
        if gone := close_gone(self.app, ledger):
            for run in gone:
                log.warning(
                    "%s of %s for %s: its process %s has ended; taken up again",
                    run.job,
                    run.benchmark or "all",
                    run.date,
                    run.owner,
                )
            ledger, targets = self._read_history()
        self._warn_of_clock(ledger)
        return ledger, targets

    def _read_history(self) -> tuple[Ledger, list[Target]]:
        with self.app.open_history(read_only=True) as history:
            return read_ledger(history), self._scheduled(_targets(history))

    def _scheduled(self, targets: list[Target]) -> list[Target]:
        nights_of = self.app.settings.nights_of
        return [target for target in targets if nights_of(target.benchmark).enabled]

    def _warn_of_clock(self, ledger: Ledger) -> None:
        now = self.app.clock.now()
        ahead = latest_ahead((run for runs in ledger.values() for run in runs), now)
        if ahead is not None and ahead != self._warned_ahead:
            log.warning(
                "the clock says %s but the ledger has an attempt at %s: the clock has gone "
                "backwards; nights that are done are not done again",
                f"{now:%Y-%m-%d %H:%M:%S}",
                f"{ahead:%Y-%m-%d %H:%M:%S}",
            )
        self._warned_ahead = ahead

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
            targets = self._scheduled(_targets(history))
            opened, resolved = alert_changes(
                history, read_ledger(history), targets, now=now, alert_after=schedule.alert_after
            )
        # A last beat that lies ahead was noted before the clock went back.
        due = self._last_beat is None or not (
            self._last_beat <= now < self._last_beat + schedule.heartbeat_every
        )
        if due or opened or resolved:
            with self.app.open_history() as history, history.transaction():
                write_alerts(history, opened, resolved, now=now)
                beat(history, HEARTBEAT, now=now)
            self._last_beat = now
        for target, message in opened.items():
            log.error("alert for %s: %s", target, message)
        if resolved:
            log.info("%d alerts resolved: recalibrated again", len(resolved))
        return True


def _targets(history: History) -> list[Target]:
    try:
        return choose_targets(history)
    except InputError:  # no runs yet
        return []
