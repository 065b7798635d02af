"""Put a scheduler together, and run it as a daemon or once."""

import signal
import time
from pathlib import Path
from types import FrameType

from jobs.app import App
from jobs.back_up import back_up
from jobs.full_runs import FullRuns
from jobs.job_ledger import StopRequested
from jobs.process_name import this_process
from jobs.scheduler_round import Worker
from jobs.watch_folders import watch_of

LOOK_AGAIN_S = 0.5


def make_worker(app: App) -> Worker:
    """Worker of this process with the real jobs."""
    owner = this_process("schedule")
    return Worker(
        app=app,
        owner=owner,
        watch=watch_of(app.settings),
        full_runs=FullRuns(owner=owner),
        back_up=_back_up,
    )


def run_scheduler(app: App) -> None:
    """Work as a daemon until SIGTERM or SIGINT.

    Raises
    ------
    HistoryError
        If the history cannot be opened at the start; later the daemon waits for it.
    """
    from jobs.scheduler import Daemon

    app.open_history(read_only=True).close()
    Daemon(make_worker(app)).run()


def run_once(app: App) -> bool:
    """Do what is due now and see the full runs that it starts through.

    Returns
    -------
    bool
        False if anything failed, or SIGTERM cut it short; that is rolled back and noted.
    """
    app.open_history(read_only=True).close()
    worker = make_worker(app)
    former = signal.signal(signal.SIGTERM, _stop)
    try:
        return _once(app, worker)
    except StopRequested:
        return False
    finally:
        signal.signal(signal.SIGTERM, former)
        worker.full_runs.stop(app)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise StopRequested


def _once(app: App, worker: Worker) -> bool:
    worker.watch.look(app.clock.now())
    if worker.watch.has_new():
        # A file is taken only if it rests between two looks.
        time.sleep(max(watch.settle for watch in app.settings.watch).total_seconds())
    fine = worker.round()
    while worker.full_runs.running:
        time.sleep(LOOK_AGAIN_S)
        fine = worker.full_runs.look_after(app) and fine
    return fine


def _back_up(app: App) -> Path:
    return back_up(app).backup
