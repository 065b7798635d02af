"""Histories to damage, and ways to damage them."""

import os
import subprocess
import sys
from pathlib import Path

from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, bank, days, log

ROOT = Path(__file__).resolve().parents[2]


def add_run(history: History, key: str, *, day: float = 0.0, outcome: int = 1) -> None:
    """Store one full run in a transaction of its own."""
    with history.transaction():
        write_runs(
            history,
            BENCHMARK,
            [log(key, dict.fromkeys(QUESTIONS, outcome), started_at=START + days(day))],
            imported_at=NOW,
        )


def filled(path: Path, *, runs: int = 3) -> Path:
    """Write a history with some runs, closed properly."""
    with History.create(path, now=NOW) as history:
        with history.transaction():
            create_benchmark(history, BENCHMARK, now=NOW)
            save_bank(history, bank(), now=NOW)
        for number in range(runs):
            add_run(history, f"r{number}", day=number)
    return path


CRASH = """
import os, sys
from pathlib import Path
from storage.file.history import History
from tests.storage.damage import add_run
history = History.open(sys.argv[1])
for key in sys.argv[2:]:
    add_run(history, key)
os.kill(os.getpid(), 9)
"""


def crash_after_adding(path: Path, *keys: str) -> None:
    """Add runs in a process that is killed before it closes the history."""
    finished = subprocess.run(
        [sys.executable, "-c", CRASH, str(path), *keys], cwd=ROOT, env=os.environ, timeout=60
    )
    assert finished.returncode == -9


def log_of(path: Path) -> Path:
    """The write-ahead log of a history."""
    return path.with_name(path.name + ".wal")


def flip(path: Path, offset: int, bit: int = 2) -> None:
    """Change one bit of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ (1 << bit)]))


def truncate(path: Path, size: int) -> None:
    """Cut a file."""
    with path.open("r+b") as file:
        file.truncate(size)
