"""Ten million verdicts through the command line: time, memory and size on disk.

The machine must be otherwise idle. On two cores the limits are those promised.
"""

import dataclasses
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recurring_eval.records import MISSING
from storage.file.history import History
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_log
from storage.runs.write_runs import write_runs
from tests.storage.builders import NOW

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).resolve().parents[2]
N_RUNS, N_QUESTIONS, BLOCK_ROWS = 20_000, 500, 250_000
MEASURED = """
import resource, sys, time
from jobs.cli import app
started = time.monotonic()
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"{time.monotonic() - started:.2f} {peak:.0f}", file=sys.stderr)
"""


def write_table(path: Path, *, shuffled: bool) -> Path:
    rng = np.random.default_rng(3)
    questions = pa.array([f"django__django-{number:05d}" for number in range(N_QUESTIONS)])
    start = datetime(2024, 1, 1, tzinfo=UTC)
    writer = None
    names = pa.array([f"run-{number:06d}" for number in range(N_RUNS)])
    times = pa.array([start + timedelta(hours=number / 2) for number in range(N_RUNS)])
    for first in range(0, N_RUNS * N_QUESTIONS, BLOCK_ROWS):
        row = np.arange(first, first + BLOCK_ROWS)
        # Shuffled, each block has rows of every run.
        run, question = np.divmod(row, N_QUESTIONS)
        if shuffled:
            question, run = np.divmod(row, N_RUNS)
        n = len(run)
        missing = rng.random(n) < 0.02
        table = pa.table(
            {
                "run_id": names.take(pa.array(run)),
                "question_id": questions.take(pa.array(question)),
                "passed": pa.array(rng.random(n) < 0.7, mask=missing),
                "error": pa.array(np.where(missing, "timeout", None), pa.string()),
                "started_at": times.take(pa.array(run)),
                "benchmark": pa.array(["big"]).take(pa.array(np.zeros(n, np.int64))),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=250_000)
    assert writer is not None
    writer.close()
    return path


def run(folder: Path, *arguments: str | Path) -> tuple[dict[str, object], float, float]:
    """Document, seconds and peak memory in MB of a command."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments), "--config", folder, "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = done.stderr.split()[-2:]
    return json.loads(done.stdout), float(seconds), float(megabytes)


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_ten_million_verdicts(tmp_path: Path, order: str) -> None:
    table = write_table(tmp_path / "big.parquet", shuffled=order == "shuffled")
    subprocess.run(
        [sys.executable, "-c", MEASURED, "init", "--dir", tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    document, seconds, megabytes = run(tmp_path, "import", table)
    assert document["verdicts_added"] == N_RUNS * N_QUESTIONS
    again, no_op, _ = run(tmp_path, "import", table)
    assert again["verdicts_added"] == 0
    history = tmp_path / "history.duckdb"
    size = history.stat().st_size / 1e6 / (N_RUNS * N_QUESTIONS / 1e6)
    replacing = []
    with History.open(history) as opened:
        runs = list_runs(opened, "big")
        for chosen in runs[:: N_RUNS // 5]:
            log = load_log(opened, chosen)
            valid = log.outcome != MISSING
            log = dataclasses.replace(
                log, outcome=np.where(valid, 1 - log.outcome, MISSING).astype(np.int8)
            )
            started = time.perf_counter()
            with opened.transaction():
                write_runs(opened, "big", [log], imported_at=NOW, replace=True)
            replacing.append(1000 * (time.perf_counter() - started))
    print(
        f"\n{order}: import {seconds:.1f} s, {megabytes:.0f} MB of memory, {size:.2f} MB per"
        f" million rows; again {no_op:.1f} s; replacing a run {np.median(replacing):.0f} ms"
    )
    assert megabytes < 1000
    assert size < 4.5
    assert no_op < 5
    assert np.median(replacing) < 50
    if order == "sorted":
        assert seconds < 15
