"""Files cut, flipped and deleted at random: always noticed, and restored from the backup."""

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from jobs.upkeep.backups import find_backup
from jobs.upkeep.doctor import Checkup, examine
from storage.file.checkup import history_facts
from storage.file.errors import HistoryDamagedError
from storage.file.history import History
from storage.file.restore import restore_backup
from storage.runs.runs import list_runs
from tests.durability.work import BENCHMARK, app_on
from tests.storage.damage import flip, log_of, truncate

HARMS = ("truncate log", "flip log", "delete log", "truncate file", "flip file")
CRASH = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from storage.file.history import History
from storage.runs.write_runs import write_runs
from tests.durability.work import BENCHMARK, run_log
history = History.open(Path(sys.argv[1]))
for number in range(5):
    with history.transaction():
        log = run_log(f"late-{number}", 50 + number)
        write_runs(history, BENCHMARK, [log], imported_at=datetime.now(UTC))
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def crashed(folder: Path) -> Path:
    """A project whose last five runs are in the write-ahead log only."""
    root = Path(__file__).resolve().parents[2]
    history = folder / "history.duckdb"
    done = subprocess.run([sys.executable, "-c", CRASH, history], cwd=root, env=os.environ)
    assert done.returncode == -9
    assert log_of(history).stat().st_size > 0
    return folder


def harm(path: Path, what: str, rng: random.Random) -> None:
    kind, which = what.split()
    target = log_of(path) if which == "log" else path
    size = target.stat().st_size
    if kind == "truncate":
        truncate(target, rng.randrange(size))
    elif kind == "delete":
        target.unlink()
    else:
        # A third of the flips where the file describes itself.
        offset = rng.randrange(min(size, 12_288) if rng.random() < 0.33 else size)
        flip(target, offset, rng.randrange(8))


def outcome(folder: Path, *, read_only: bool) -> str:
    """How opening ends: refused by name, or noted and with everything there."""
    path = folder / "history.duckdb"
    try:
        with History.open(path, read_only=read_only) as history:
            notes = history.notes
            keys = {run.run_key for run in list_runs(history, BENCHMARK)}
            facts = history_facts(history)
    except HistoryDamagedError as error:
        message = str(error)
        assert path.name in message
        assert "recurring-eval restore" in message
        assert "\n" not in message
        return "refused"
    assert notes, "opened without a word"
    assert facts.damage == ()
    assert {f"late-{number}" for number in range(5)} <= keys
    assert len(keys) == 17
    return "noted and whole"


def damage_often(crashed: Path, tmp_path: Path, rounds: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    closed = tmp_path / "closed"
    shutil.copytree(crashed, closed)
    History.open(closed / "history.duckdb").close()
    for number in range(rounds):
        for what in HARMS:
            origin = closed if what.endswith("file") and number % 2 else crashed
            place = tmp_path / "place"
            shutil.copytree(origin, place)
            harm(place / "history.duckdb", what, rng)
            shutil.copytree(place, tmp_path / "second")
            for folder, read_only in ((place, True), (tmp_path / "second", False)):
                seen[f"{what}: {outcome(folder, read_only=read_only)}"] += 1
            checkup = examine(app_on(place))
            if outcome_of_opening(checkup) == "refused":
                assert not checkup.ok
                app = app_on(place)
                restore_backup(find_backup(app, "last"), app.settings.history, now=app.clock.now())
                with History.open(place / "history.duckdb") as history:
                    assert len(list_runs(history, BENCHMARK)) == 12
                assert examine(app_on(place)).ok
            shutil.rmtree(place)
            shutil.rmtree(tmp_path / "second")
    return seen


def outcome_of_opening(checkup: Checkup) -> str:
    names = {check.name: check.status for check in checkup.checks}
    return "refused" if names.get("history") == "FAULT" else "noted"


def test_each_harm_is_noticed(crashed: Path, tmp_path: Path) -> None:
    damage_often(crashed, tmp_path, 1, seed=1)


@pytest.mark.torture
def test_50_of_each_harm_are_noticed(crashed: Path, tmp_path: Path) -> None:
    seen = damage_often(crashed, tmp_path, 50, seed=2)
    print()
    for what, count in sorted(seen.items()):
        print(f"{count:4d} {what}")
    assert sum(seen.values()) == 2 * 50 * len(HARMS)
