"""The daemon itself: APScheduler's settings, signals, and a real process."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from zoneinfo import ZoneInfo

import pytest

from jobs.app.app import start_app
from jobs.app.targets import Target
from jobs.schedule.due import Slot
from jobs.schedule.ledger import PROCESS_GONE, JobKey, is_gone, take_attempt, this_process
from jobs.scheduler import Daemon, SlotTrigger, Timers, make_worker
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.ledger import JobRun, JobStatus, last_beat, list_job_runs
from tests.jobs.command_line import invoke
from tests.jobs.small_benchmarks import import_benchmarks

ROOT = Path(__file__).resolve().parents[2]
MAIN = "from jobs.cli import main; main()"
FAST = """
[defaults]
subset_sizes = [5]
[schedule]
check_every = '1s'
heartbeat_every = '1s'
backup = false
"""


def yesterday():
    return (datetime.now(UTC) - timedelta(days=1)).date()


@pytest.fixture
def scheduled(project):
    (project / "recurring-eval.toml").write_text(FAST + "report = false\n")
    import_benchmarks(project, "a", "b", n_runs=6, last=yesterday())
    return project


def start(*words: str) -> "subprocess.Popen[str]":
    environment = dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "schedule", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def ledger(project: Path, job: str | None = "recalibrate") -> list[JobRun]:
    with History.open(project / "history.duckdb", read_only=True) as history:
        return list_job_runs(history, job=job)


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(HistoryError):
            if condition():
                return
        time.sleep(0.2)
    raise AssertionError("it did not happen in time")


def heart(project: Path) -> datetime | None:
    with History.open(project / "history.duckdb", read_only=True) as history:
        return last_beat(history, "schedule")


def test_a_daemon_catches_up_beats_and_stops_in_good_order(scheduled):
    (scheduled / "recurring-eval.toml").write_text(FAST)
    daemon = start()
    try:
        wait_until(lambda: len([r for r in ledger(scheduled) if r.status is JobStatus.DONE]) == 2)
        wait_until(lambda: len(ledger(scheduled, "report")) == 2)
        wait_until(lambda: heart(scheduled))
        first = heart(scheduled)
        wait_until(lambda: heart(scheduled) > first)
        asked = time.monotonic()
        daemon.send_signal(signal.SIGTERM)
        out, err = daemon.communicate(timeout=15)
        took = time.monotonic() - asked
    finally:
        daemon.kill()
    assert daemon.returncode == 0
    assert took < 10
    assert out == ""
    assert "Traceback" not in err
    lines = err.splitlines()
    assert all(line[:4] == "2026" or line[:2] == "20" for line in lines)
    assert lines[-1].endswith("INFO scheduler stopped")
    assert sum("recalibrate of" in line and "calibrated" in line for line in lines) == 2
    assert all(run.finished_at is not None for run in ledger(scheduled, None))
    status = invoke("status", "--json").document
    assert status["scheduler"]["last_heartbeat"] is not None
    assert [state["schedule"]["due"] for state in status["benchmarks"]] == [[], []]


def test_two_schedulers_at_once_do_each_night_once(scheduled):
    both = [start("--once"), start("--once")]
    ended = [process.communicate(timeout=120) for process in both]
    done = [run for run in ledger(scheduled) if run.status is JobStatus.DONE]
    assert sorted(run.benchmark for run in done) == ["a", "b"], ended
    again = start("--once")
    again.communicate(timeout=60)
    assert again.returncode == 0
    assert len([r for r in ledger(scheduled) if r.status is JobStatus.DONE]) == 2


def test_what_a_killed_scheduler_left_is_taken_up_at_once(scheduled):
    gone = subprocess.run(
        [
            sys.executable,
            "-c",
            "from jobs.schedule.ledger import *; print(this_process('schedule'))",
        ],
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert is_gone(gone)
    assert not is_gone(this_process("schedule"))
    assert not is_gone("schedule@another-host:1:x")
    now = datetime.now(UTC)
    app = start_app(quiet=True)
    key = JobKey(job="recalibrate", target=Target(benchmark="a", family="main"))
    day = Slot(at=app.settings.schedule.at, zone=UTC).last_night(now)
    assert take_attempt(app, key, day, owner=gone) is not None
    once = start("--once")
    _, err = once.communicate(timeout=60)
    assert "its process" in err
    of_a = [run for run in reversed(ledger(scheduled)) if run.benchmark == "a"]
    assert [run.status for run in of_a] == [JobStatus.FAILED, JobStatus.DONE]
    assert of_a[0].message.startswith(PROCESS_GONE)


def test_a_history_that_is_not_there_is_one_line(folder):
    assert invoke("init", "--quiet").code == 0
    for path in folder.glob("history*"):
        path.unlink()
    outcome = invoke("schedule")
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("patient", [True, False])
def test_a_night_under_way_is_finished_or_rolled_back(scheduled, patient):
    """The first signal lets it finish; past `stop_within` it is undone."""
    app = start_app(quiet=True)
    within = timedelta(seconds=30 if patient else 1)
    schedule = app.settings.schedule.model_copy(update={"stop_within": within, "report": False})
    app = replace(app, settings=app.settings.model_copy(update={"schedule": schedule}))
    worker = make_worker(app)
    real = worker.run

    def slow(app, night, attempt, *, owner):
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        time.sleep(1 if patient else 20)
        return real(app, night, attempt, owner=owner)

    worker.run = slow
    begun = time.monotonic()
    Daemon(worker).run()
    assert time.monotonic() - begun < 15
    (attempt,) = ledger(scheduled)
    if patient:
        assert attempt.status is JobStatus.DONE
    else:
        assert attempt.message.startswith("stopped by request")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_timers_are_never_dropped_for_being_late(scheduled):
    """The grace given to APScheduler is read back; its default of one second loses nights."""
    timers = Timers(start_app(quiet=True).settings, SimpleQueue())
    timers.start(["a", "b"])
    try:
        jobs = timers._scheduler.get_jobs()
        assert {job.id for job in jobs} == {"round", "night of a", "night of b"}
        assert [job.misfire_grace_time for job in jobs] == [None] * 3
        assert all(job.coalesce for job in jobs)
        assert timers._scheduler.timezone is UTC
        assert {job.next_run_time.utcoffset() for job in jobs} == {timedelta()}
    finally:
        timers.stop()
    timers = Timers(start_app(quiet=True).settings, SimpleQueue())
    timers._scheduler._job_defaults["misfire_grace_time"] = 1
    with pytest.raises(RuntimeError, match="dropped when late"):
        timers.start(["a"])
    timers.stop()


def test_the_trigger_fires_once_for_every_date_of_400_days():
    for zone in ("UTC", "Europe/Paris", "America/Los_Angeles", "Australia/Lord_Howe"):
        trigger = SlotTrigger(Slot(at=time_of_day(0, 0), zone=ZoneInfo(zone)))
        now = datetime(2026, 12, 1, 12, tzinfo=UTC)
        fired, dates = None, []
        for _ in range(400):
            fired = trigger.get_next_fire_time(fired, now)
            dates.append(fired.astimezone(ZoneInfo(zone)).date())
        assert [b - a for a, b in pairwise(dates)] == [timedelta(days=1)] * 399
