"""`kill -9` at random moments: nothing that was acknowledged is lost, nothing is half-written."""

import gzip
import random
import time
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

from storage.file.checkup import history_facts
from storage.file.errors import SchemaError
from storage.file.history import History
from storage.file.upkeep import migrate
from tests.durability.check import assert_whole
from tests.durability.work import CONFIG, work
from tests.storage.builders import NOW

SCHEMAS = Path(__file__).resolve().parents[1] / "storage" / "schemas"
OLDEST = SCHEMAS / "0001.duckdb.gz"
LONGEST_S = 120


def seconds_of(processes: BaseContext, kind: str, folder: Path, number: int) -> float:
    """How long a piece of work takes when nobody kills it."""
    started = time.monotonic()
    process = processes.Process(target=work, args=(kind, str(folder), number))
    process.start()
    process.join(LONGEST_S)
    assert process.exitcode == 0
    return time.monotonic() - started


def kill(processes: BaseContext, kind: str, folder: Path, number: int, after: float) -> bool:
    """Start a piece of work and kill it; whether it was still at it."""
    process = processes.Process(target=work, args=(kind, str(folder), number))
    process.start()
    process.join(after)
    process.kill()
    process.join(LONGEST_S)
    assert process.exitcode in (0, -9)
    return process.exitcode == -9


def old_history(folder: Path) -> Path:
    """A project with a history of the oldest schema."""
    folder.mkdir()
    (folder / "recurring-eval.toml").write_text(CONFIG)
    (folder / "history.duckdb").write_bytes(gzip.decompress(OLDEST.read_bytes()))
    return folder


def kill_often(
    processes: BaseContext, folder: Path, kinds: tuple[str, ...], rounds: int, seed: int
) -> int:
    rng = random.Random(seed)
    usual = {
        kind: seconds_of(processes, kind, folder, 100 + number) for number, kind in enumerate(kinds)
    }
    killed = 0
    for number in range(rounds):
        kind = kinds[number % len(kinds)]
        killed += kill(processes, kind, folder, 200 + number, rng.uniform(0.01, 1.1 * usual[kind]))
        assert_whole(folder)
    return killed


def kill_migrations(processes: BaseContext, tmp_path: Path, rounds: int, seed: int) -> int:
    rng = random.Random(seed)
    usual = seconds_of(processes, "migrate", old_history(tmp_path / "first"), 0)
    killed = 0
    for number in range(rounds):
        folder = old_history(tmp_path / f"old-{number}")
        killed += kill(processes, "migrate", folder, 0, rng.uniform(0.01, 1.1 * usual))
        path = folder / "history.duckdb"
        try:
            History.open(path).close()
        except SchemaError as error:
            assert "older than version" in str(error)  # noqa: PT017  # either is right
        migrate(path, backup_folder=folder / "b", now=NOW)
        with History.open(path) as history:
            facts = history_facts(history)
        assert (facts.damage, facts.n_runs, facts.n_verdicts) == ((), 5, 100)
    return killed


def test_a_few_kills(processes: BaseContext, folder: Path, tmp_path: Path) -> None:
    kill_often(processes, folder, ("import", "recalibrate", "backup"), 3, seed=1)
    kill_migrations(processes, tmp_path, 1, seed=1)


@pytest.mark.torture
def test_200_kills(processes: BaseContext, folder: Path, tmp_path: Path) -> None:
    killed = kill_often(processes, folder, ("import", "recalibrate", "backup"), 150, seed=2)
    killed += kill_migrations(processes, tmp_path, 50, seed=2)
    print(f"\n200 kills, {killed} of them in the middle of the work")
    assert killed > 120


@pytest.mark.torture
def test_kills_while_compacting_and_moving(processes: BaseContext, folder: Path) -> None:
    killed = kill_often(processes, folder, ("compact", "retain", "import"), 30, seed=3)
    print(f"\n30 kills, {killed} of them in the middle of the work")
