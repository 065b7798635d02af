"""The daemon: APScheduler rings, the main thread checks what is due and does it.

APScheduler keeps nothing (its job store is memory; the ledger is ours) and does
nothing but ring: at every benchmark's slot and every `check_every`. The main thread
waits for a ring and does a round (`jobs.schedule.worker`).
So jobs run one after the other in one thread, and a signal can end one cleanly.

No timer needs to be right. All are computed in UTC from the slots themselves, never
from the host's zone or by adding hours; none is dropped for being late; and when no
ring came for twice `check_every` by the monotonic clock, as after the clock was put
back, the timers are set anew and a round is done at once.
"""

import logging
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.events import JobExecutionEvent as Event
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.interval import IntervalTrigger

from jobs.app.app import App
from jobs.app.config import Settings
from jobs.schedule.due import Slot, slot_of
from jobs.schedule.ledger import StopRequested, this_process
from jobs.schedule.worker import Worker
from storage.file.errors import HistoryError
from storage.runs.benchmarks import benchmark_names

log = logging.getLogger(__name__)

ROUND: Final = "round"
STOP: Final = "stop"
NIGHT: Final = "night of "
LOOK_AGAIN_S: Final = 0.5
BACKWARDS: Final = timedelta(seconds=5)
"""A clock that is put back by less than this is not reported."""


class SlotTrigger(BaseTrigger):  # type: ignore[misc]  # apscheduler has no types
    """Fires at each slot, strictly later every time."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Next slot after the previous one, or after now."""
        return self.slot.next_start((previous_fire_time or now).astimezone(UTC))


class Timers:
    """The timers of one daemon; each puts a word into `inbox`."""

    def __init__(self, settings: Settings, inbox: "SimpleQueue[str]") -> None:
        self._settings = settings
        self._inbox = inbox
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(1)},
            # Given to the constructor itself, the grace would silently stay one second.
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
            daemon=True,
        )
        self._scheduler.add_listener(
            _warn_missed, EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES | EVENT_JOB_ERROR
        )

    def start(self, benchmarks: Iterable[str]) -> None:
        """Set the timers, check that their options took effect, and start."""
        self.arm(benchmarks)
        self._scheduler.start()
        for job in self._scheduler.get_jobs():
            if job.misfire_grace_time is not None or not job.coalesce or job.max_instances != 1:
                raise RuntimeError(f"timer {job.id} would be dropped when late")

    def arm(self, benchmarks: Iterable[str]) -> None:
        """Set the timers anew from the current time."""
        every = int(self._settings.schedule.check_every.total_seconds())
        wanted: dict[str, BaseTrigger] = {ROUND: IntervalTrigger(seconds=every, timezone=UTC)}
        for name in benchmarks:
            nights = self._settings.nights_of(name)
            if nights.enabled:
                wanted[NIGHT + name] = SlotTrigger(slot_of(nights))
        for name, trigger in wanted.items():
            self._scheduler.add_job(
                self._inbox.put, trigger, args=[name], id=name, replace_existing=True
            )

    def names(self) -> set[str]:
        """Names of the benchmarks with a timer."""
        ids = [job.id for job in self._scheduler.get_jobs()]
        return {name.removeprefix(NIGHT) for name in ids if name.startswith(NIGHT)}

    def stop(self) -> None:
        """Stop all timers."""
        self._scheduler.shutdown(wait=False)


class Daemon:
    """Runs the worker's rounds until a signal asks to stop."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._app = worker.app
        self._inbox: SimpleQueue[str] = SimpleQueue()
        self._timers = Timers(self._app.settings, self._inbox)
        self._busy = False

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; return once all is in good order.

        A round that is under way may finish its job within `stop_within`; after
        that, or at a second signal, the job is rolled back and noted as stopped.
        """
        previous = {
            number: signal.signal(number, handler)
            for number, handler in (
                (signal.SIGTERM, self._stop),
                (signal.SIGINT, self._stop),
                (signal.SIGALRM, self._interrupt),
            )
        }
        try:
            self._timers.start(self._benchmarks())
            log.info("scheduler %s started; %s", self._worker.owner, self._described())
            self._rounds()
        except StopRequested:
            log.warning("the job under way took too long; it is rolled back")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            with suppress(StopRequested):
                self._timers.stop()
                self._worker.full_runs.stop(self._app)
            for number, handler in previous.items():
                signal.signal(number, handler)
            log.info("scheduler stopped")

    def _rounds(self) -> None:
        patience = 2 * self._app.settings.schedule.check_every.total_seconds()
        last = self._app.clock.now()
        self._inbox.put(ROUND)
        while not self._worker.stopping.is_set():
            try:
                self._inbox.get(timeout=patience)
            except Empty:
                log.warning("no timer rang for %.0f s; all are set anew", patience)
                self._timers.arm(self._benchmarks())
            with suppress(Empty):
                while True:  # rings that came together need one round
                    self._inbox.get_nowait()
            now = self._app.clock.now()
            if now < last - BACKWARDS:
                log.warning(
                    "the clock went backwards by %.0f s; timers are set anew",
                    (last - now).total_seconds(),
                )
                self._timers.arm(self._benchmarks())
            last = now
            self._busy = True
            try:
                self._worker.round()
            finally:
                self._busy = False
            if (names := self._benchmarks()) - self._timers.names():
                self._timers.arm(names)

    def _benchmarks(self) -> set[str]:
        try:
            with self._app.open_history(read_only=True) as history:
                return set(benchmark_names(history))
        except HistoryError as error:
            log.warning("%s", error)
            return self._timers.names()

    def _described(self) -> str:
        schedule = self._app.settings.schedule
        return (
            f"nights at {schedule.at:%H:%M} {schedule.zone} unless configured otherwise; "
            f"{len(self._timers.names())} benchmarks; late timers always ring, once"
        )

    # Handlers only set flags: the thread they interrupt may hold the lock of the log.
    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        if self._worker.stopping.is_set():
            self._interrupt(_number, _frame)
            return
        self._worker.stopping.set()
        self._inbox.put(STOP)
        within = self._app.settings.schedule.stop_within.total_seconds()
        signal.setitimer(signal.ITIMER_REAL, within)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._busy:
            self._busy = False
            raise StopRequested


def _warn_missed(event: Event) -> None:
    log.warning("timer %s did not ring in time; the ledger decides what is due", event.job_id)


def make_worker(app: App) -> Worker:
    """Worker of this process with the real jobs."""
    return Worker(app=app, owner=this_process("schedule"))


def run_scheduler(app: App) -> None:
    """Work as a daemon until SIGTERM or SIGINT.

    Raises
    ------
    HistoryError
        If the history cannot be opened at the start; later the daemon waits for it.
    """
    app.open_history(read_only=True).close()
    Daemon(make_worker(app)).run()


def run_once(app: App) -> bool:
    """Do what is due now, and wait for the full runs that it starts.

    Returns
    -------
    bool
        False if anything failed, or SIGTERM cut it short; that is rolled back and noted.
    """
    app.open_history(read_only=True).close()
    worker = make_worker(app)
    previous = signal.signal(signal.SIGTERM, _stop)
    try:
        return _once(app, worker)
    except StopRequested:
        return False
    finally:
        signal.signal(signal.SIGTERM, previous)
        worker.full_runs.stop(app)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise StopRequested


def _once(app: App, worker: Worker) -> bool:
    worker.watch.look(app.clock.now())
    if worker.watch.has_new():
        # A file is taken only if it rests between two checks.
        time.sleep(max(watch.settle for watch in app.settings.watch).total_seconds())
    fine = worker.round()
    while worker.full_runs.running:
        time.sleep(LOOK_AGAIN_S)
        fine = worker.full_runs.look_after(app) and fine
    return fine
