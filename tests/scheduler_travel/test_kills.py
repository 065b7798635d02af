"""A real scheduler process, killed at random moments with nothing to say goodbye with."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobs.app.app import start_app
from jobs.clock import FixedClock
from jobs.nights.recalibrate import recalibrate
from storage.file.history import History
from storage.ledger import JobStatus, list_job_runs
from tests.jobs.command_line import invoke
from tests.jobs.small_benchmarks import import_benchmarks

ROOT = Path(__file__).resolve().parents[2]
N_KILLS = 15


@pytest.mark.torture
def test_kill_9_at_random_moments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke("init", "--quiet").code == 0
    (tmp_path / "recurring-eval.toml").write_text(
        "[schedule]\nbackup = false\ncheck_every = '1s'\n"
    )
    today = datetime.now(UTC).date()
    import_benchmarks(tmp_path, "a", "b", "c", n_runs=12, last=today - timedelta(days=8))
    # A night done in its time eight days ago makes the week since due, for each of the three.
    then = FixedClock(datetime.now(UTC) - timedelta(days=8))
    assert len(recalibrate(start_app(quiet=True, clock=then))) == 3
    chance = random.Random(3)
    command = [sys.executable, "-c", "from jobs.cli import main; main()", "schedule"]
    environment = dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    for _ in range(N_KILLS):
        daemon = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        assert daemon.stderr is not None
        daemon.stderr.readline()  # it has started
        time.sleep(chance.uniform(0, 2.5))
        daemon.kill()
        daemon.communicate()
    last = subprocess.run([*command, "--once"], env=environment, check=False, capture_output=True)
    assert last.returncode == 0, last.stderr
    with History.open(tmp_path / "history.duckdb", read_only=True) as history:
        ledger = list_job_runs(history)
    print(Counter(f"{run.job} {run.status.value}" for run in ledger))
    done = Counter(
        (run.job, run.benchmark, run.date) for run in ledger if run.status is JobStatus.DONE
    )
    assert set(done.values()) == {1}
    nights = {(name, today - timedelta(days=back)) for name in "abc" for back in range(1, 8)}
    assert {("recalibrate", *night) for night in nights} <= set(done)
    assert all(run.finished_at is not None for run in ledger)
    assert invoke("doctor").code == 0
