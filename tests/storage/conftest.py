"""Histories to test with."""

import shutil
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
from tests.storage.damage import filled


@pytest.fixture(scope="session")
def _made_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "made"
    folder.mkdir()
    with History.create(folder / "history.duckdb", now=NOW) as opened, opened.transaction():
        create_benchmark(opened, BENCHMARK, now=NOW)
        save_bank(opened, bank(), now=NOW)
    return folder


@pytest.fixture
def history(_made_history: Path, tmp_path: Path) -> Iterator[History]:
    """A history with a benchmark of questions q00 to q09 and no runs."""
    shutil.copytree(_made_history, tmp_path, dirs_exist_ok=True)
    with History.open(tmp_path / "history.duckdb") as opened:
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


@pytest.fixture(scope="session")
def _made_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("runs") / "history.duckdb").parent


@pytest.fixture
def path(_made_runs: Path, tmp_path: Path) -> Path:
    """Where a history with three full runs lies, closed properly."""
    shutil.copytree(_made_runs, tmp_path, dirs_exist_ok=True)
    return tmp_path / "history.duckdb"
