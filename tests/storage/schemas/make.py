"""Write a small history with the program as it is, to be kept when the schema moves on."""

import gzip
import sys
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from recurring_eval.records import MISSING, Bank, RunLog  # noqa: E402  # after the path
from storage.file.history import History  # noqa: E402  # after the path
from storage.ledger import JobStatus, finish_job, take_lease  # noqa: E402  # after the path
from storage.runs.benchmarks import create_benchmark, save_bank  # noqa: E402  # after the path
from storage.runs.write_runs import write_runs  # noqa: E402  # after the path

NOW = datetime(2026, 3, 1, 2, tzinfo=UTC)
QUESTIONS = tuple(f"q{number:02d}" for number in range(20))


def log(number: int, outcome: np.ndarray) -> RunLog:
    n = len(QUESTIONS)
    return RunLog(
        run_key=f"run-{number}",
        benchmark="kept",
        agent="coder",
        started_at=NOW - timedelta(days=10 - number),
        harness="table",
        question_ids=QUESTIONS,
        content_hashes=("",) * n,
        question_index=np.arange(n, dtype=np.int32),
        trial=np.ones(n, dtype=np.int16),
        outcome=outcome.astype(np.int8),
        reasons=("timeout",),
        reason_index=np.where(outcome == MISSING, 0, -1).astype(np.int16),
        duration_s=np.full(n, np.nan),
        cost=np.full(n, np.nan),
    )


def make(path: Path) -> None:
    rng = np.random.default_rng(1)
    outcomes = rng.integers(MISSING, 2, size=(5, len(QUESTIONS)))
    with History.create(path, now=NOW) as history:
        with history.transaction():
            create_benchmark(history, "kept", now=NOW)
            bank = Bank(benchmark="kept", question_ids=QUESTIONS, content_hashes=("",) * 20)
            save_bank(history, bank, now=NOW)
            logs = [log(number, outcome) for number, outcome in enumerate(outcomes)]
            write_runs(history, "kept", logs, imported_at=NOW)
        with history.transaction():
            changed = [log(0, 1 - np.abs(outcomes[0]))]
            write_runs(history, "kept", changed, imported_at=NOW, replace=True)
        for status in (JobStatus.FAILED, JobStatus.DONE):
            with history.transaction():
                attempt = take_lease(
                    history,
                    job="recalibrate",
                    benchmark="kept",
                    family="main",
                    date=date(2026, 3, 1),
                    owner="make.py",
                    now=NOW,
                    lease_for=timedelta(hours=1),
                )
                finish_job(history, attempt, status=status, message="", now=NOW)
        history.checkpoint()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "history.duckdb")
        make(made)
        target = Path(__file__).with_name(f"{sys.argv[1]}.duckdb.gz")
        target.write_bytes(gzip.compress(made.read_bytes(), mtime=0))
