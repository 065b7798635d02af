"""Histories to test with."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recurring_eval.records import Run
from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.runs.runs import list_runs
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, bank, days, log


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    """A history with a benchmark of questions q00 to q09 and no runs."""
    with History.create(tmp_path / "history.duckdb", now=NOW) as opened:
        with opened.transaction():
            create_benchmark(opened, BENCHMARK, now=NOW)
            save_bank(opened, bank(), now=NOW)
        yield opened


@pytest.fixture
def runs(history: History) -> list[Run]:
    """Six stored runs with random verdicts."""
    rng = np.random.default_rng(5)
    logs = [
        log(f"r{i}", {key: int(rng.integers(2)) for key in QUESTIONS}, started_at=START + days(i))
        for i in range(6)
    ]
    with history.transaction():
        write_runs(history, BENCHMARK, logs, imported_at=NOW)
    return list_runs(history, BENCHMARK)
