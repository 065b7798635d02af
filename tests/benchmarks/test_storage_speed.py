"""Loading and writing a million verdicts, as ratios to the naive ways."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from recurring_eval.records import Bank, RunLog
from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, START, days

pytestmark = pytest.mark.benchmark

N_RUNS, N_QUESTIONS = 2000, 500
QUESTIONS = tuple(f"question-{index:04d}" for index in range(N_QUESTIONS))


def million_verdicts() -> list[RunLog]:
    rng = np.random.default_rng(11)
    n = N_QUESTIONS
    return [
        RunLog(
            run_key=f"run-{number:05d}",
            benchmark=BENCHMARK,
            agent="coder",
            started_at=START + days(number / 10),
            harness="longform",
            question_ids=QUESTIONS,
            content_hashes=("",) * n,
            question_index=rng.permutation(n).astype(np.int32),
            trial=np.ones(n, dtype=np.int16),
            outcome=rng.integers(0, 2, n).astype(np.int8),
            reason_index=np.full(n, -1, dtype=np.int16),
            duration_s=np.full(n, np.nan),
            cost=np.full(n, np.nan),
        )
        for number in range(N_RUNS)
    ]


def seconds(work: Callable[[], object], *, repeats: int = 1) -> float:
    """Shortest wall time of a few calls."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


@pytest.fixture(scope="module")
def logs() -> list[RunLog]:
    return million_verdicts()


@pytest.fixture
def filled(tmp_path: Path, logs: list[RunLog]) -> History:
    history = History.create(tmp_path / "history.duckdb")
    bank = Bank(benchmark=BENCHMARK, question_ids=QUESTIONS, content_hashes=("",) * N_QUESTIONS)
    with history.transaction():
        create_benchmark(history, BENCHMARK, now=NOW)
        save_bank(history, bank, now=NOW)
        write_runs(history, BENCHMARK, logs, imported_at=NOW)
    history.checkpoint()
    return history


def test_matrix_loads_faster_than_a_pivot_in_sql(filled: History) -> None:
    runs = list_runs(filled, BENCHMARK)
    ours = seconds(lambda: load_matrix(filled, runs, QUESTIONS), repeats=3)
    pivot = "PIVOT verdict ON question_id USING sum(passed), count(passed) GROUP BY run_id"
    naive = seconds(lambda: filled.rows(pivot))
    print(f"\nload 1M verdicts: {ours:.3f} s, SQL PIVOT {naive:.3f} s, ratio {naive / ours:.1f}")
    assert naive > 3 * ours


def test_writing_beats_executemany(tmp_path: Path, filled: History, logs: list[RunLog]) -> None:
    def write_again() -> None:
        with filled.transaction():
            for table in ("verdict", "run"):
                filled.execute(f"DELETE FROM {table}")
            write_runs(filled, BENCHMARK, logs, imported_at=NOW)

    ours = seconds(write_again)
    share = 200
    with duckdb.connect(str(tmp_path / "naive.duckdb")) as naive:
        naive.begin()  # A commit for each row would be slower still.
        naive.execute("CREATE TABLE verdict (run INT, question INT, trial INT, passed INT)")
        rows = [
            (number, int(question), 1, int(outcome))
            for number, log in enumerate(logs[: N_RUNS // share])
            for question, outcome in zip(log.question_index, log.outcome, strict=True)
        ]
        slow = share * seconds(
            lambda: naive.executemany("INSERT INTO verdict VALUES (?, ?, ?, ?)", rows)
        )
    print(f"\nwrite 1M verdicts: {ours:.2f} s, executemany {slow:.0f} s, ratio {slow / ours:.0f}")
    assert slow > 20 * ours


def test_importing_again_and_replacing_one_run_are_quick(
    filled: History, logs: list[RunLog]
) -> None:
    def again(replace: bool, *chosen: RunLog) -> None:
        with filled.transaction():
            write_runs(filled, BENCHMARK, chosen, imported_at=NOW, replace=replace)

    unchanged = seconds(lambda: again(False, *logs))
    other = dataclasses.replace(logs[7], outcome=1 - logs[7].outcome)
    replaced = seconds(lambda: again(True, other))
    size = filled.path.stat().st_size / 1e6
    print(f"\nno-op {unchanged:.2f} s, replace one run {replaced * 1000:.0f} ms, {size:.1f} MB")
    assert unchanged < 2.0
    assert replaced < 0.25
