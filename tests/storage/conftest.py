"""Histories to test with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.benchmarks import create_benchmark, save_bank
from storage.history import History
from tests.storage.builders import BENCHMARK, NOW, bank


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    """A history with a benchmark of questions q00 to q09 and no runs."""
    with History.create(tmp_path / "history.duckdb", now=NOW) as opened:
        with opened.transaction():
            create_benchmark(opened, BENCHMARK, now=NOW)
            save_bank(opened, bank(), now=NOW)
        yield opened
