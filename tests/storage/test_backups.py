"""Backups, restoring them, compacting: whole or not at all."""

import shutil
import threading
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from storage.file.backups import Backup, backup_problem, list_backups, prune_backups, write_backup
from storage.file.checkup import accepted_losses
from storage.file.errors import HistoryDamagedError, HistoryError, HistoryLockedError
from storage.file.files import sidecar_path
from storage.file.history import History
from storage.file.restore import restore_backup
from storage.file.sidecar import read_sidecar
from storage.file.upkeep import compact
from storage.runs.runs import list_runs
from tests.storage.builders import BENCHMARK, EMPTY, NOW
from tests.storage.damage import add_run, crash_after_adding, flip, log_of, truncate
from tests.storage.test_history import hold_in_another_process


def back_up(path: Path, folder: Path, *, minutes: int = 0) -> Backup:
    with History.open(path, read_only=True) as history:
        return history.check(
            lambda connection: write_backup(
                connection, path, folder, now=NOW + timedelta(minutes=minutes)
            )
        )


def keys(path: Path) -> list[str]:
    with History.open(path) as history:
        assert history.notes == ()
        return [run.run_key for run in list_runs(history, BENCHMARK)]


def test_backup_is_a_history_of_its_own(path: Path, tmp_path: Path) -> None:
    made = back_up(path, tmp_path / "b")
    assert made.path.name == "history-20260301T020000Z.duckdb"
    assert sorted(file.name for file in (tmp_path / "b").iterdir()) == [
        "history-20260301T020000Z.duckdb",
        "history-20260301T020000Z.seq",
    ]
    assert keys(made.path) == keys(path)
    ours, copied = read_sidecar(path), read_sidecar(made.path)
    assert ours is not None
    assert copied is not None
    assert (ours.sequence, ours.chain) == (copied.sequence, copied.chain)
    assert backup_problem(made.path) == ""


def test_backups_are_numbered_and_the_oldest_go(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    made = [back_up(path, folder, minutes=minutes).path for minutes in (0, 0, 3, 2)]
    (folder / "notes.txt").write_text("mine")
    (folder / "other-20200101T000000Z.duckdb").write_text("of another history")
    ordered = [made[0], made[1], made[3], made[2]]
    assert [backup.path for backup in list_backups(folder, path)] == ordered
    assert prune_backups(folder, path, keep=2, never=made[2]) == ordered[:2]
    assert sorted(file.name for file in folder.iterdir()) == [
        "history-20260301T020200Z.duckdb",
        "history-20260301T020200Z.seq",
        "history-20260301T020300Z.duckdb",
        "history-20260301T020300Z.seq",
        "notes.txt",
        "other-20200101T000000Z.duckdb",
    ]


def test_backup_is_consistent_while_others_write(path: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    with History.open(path) as history:

        def write() -> None:
            number = 0
            while not stop.is_set():
                with History.open(path) as other:
                    add_run(other, f"more-{number}")
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            made = [
                history.check(
                    lambda connection: write_backup(connection, path, tmp_path / "b", now=NOW)
                )
                for _ in range(5)
            ]
        finally:
            stop.set()
            writer.join()
    counts = [len(keys(backup.path)) for backup in made]
    assert counts == sorted(counts)


def test_failing_backup_leaves_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[str]:
        return ["a block is damaged"]

    monkeypatch.setattr("storage.file.backups.find_damage", fail)
    with pytest.raises(HistoryDamagedError, match="is not whole: a block is damaged"):
        back_up(path, tmp_path / "b")
    assert list((tmp_path / "b").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match=r"no backup was made in .*file.*--to"):
        back_up(path, tmp_path / "file")


@pytest.mark.parametrize("harm", ["flip", "truncate", "delete", "log", "none"])
def test_restore_brings_everything_back(path: Path, tmp_path: Path, harm: str) -> None:
    made = back_up(path, tmp_path / "b")
    crash_after_adding(path, "late")
    damaged = log_of(path) if harm == "log" else path
    if harm == "flip":
        flip(path, 5000)
    elif harm == "delete":
        path.unlink()
    elif harm != "none":
        truncate(damaged, damaged.stat().st_size // 2)
    if harm != "none":
        with pytest.raises(HistoryDamagedError):
            History.open(path)
    before = damaged.read_bytes() if damaged.exists() else b""
    done = restore_backup(made.path, path, now=NOW)
    lost = EMPTY + 5
    assert done.lost.startswith(f"commits {lost} to {lost} (lost: run +1, verdict +10")
    assert keys(path) == ["r0", "r1", "r2"]
    with History.open(path) as history:
        (loss,) = accepted_losses(history)
        add_run(history, "late")
    assert loss.reason == f"restored from {made.path.name}"
    assert loss.lost == done.lost
    kept = [file for file in done.set_aside if file.exists() and file.read_bytes() == before]
    assert len(kept) == (0 if harm == "delete" else 1)
    sidecar = read_sidecar(path)
    assert sidecar is not None
    assert sidecar.sequence == EMPTY + 7


def test_damaged_or_foreign_backup_changes_nothing(path: Path, tmp_path: Path) -> None:
    made = back_up(path, tmp_path / "b")
    with duckdb.connect(str(tmp_path / "foreign.duckdb")) as connection:
        connection.execute("CREATE TABLE t (i INTEGER)")
    flip(made.path, made.path.stat().st_size // 3)
    assert "has changed since it was written" in backup_problem(made.path)
    truncate(made.path, made.path.stat().st_size // 2)
    before = path.read_bytes()
    for backup, message in (
        (made.path, "Error|damaged|cannot be read"),
        (tmp_path / "foreign.duckdb", "not a history of recurring-eval"),
        (tmp_path / "none.duckdb", "there is no backup"),
        (path, "is the history itself"),
    ):
        with pytest.raises(HistoryError, match=message):
            restore_backup(backup, path, now=NOW)
    assert path.read_bytes() == before
    assert keys(path) == ["r0", "r1", "r2"]


def test_history_in_use_is_not_replaced(path: Path, tmp_path: Path) -> None:
    made = back_up(path, tmp_path / "b")
    holder = hold_in_another_process(path)
    try:
        with pytest.raises(HistoryLockedError, match=f"process {holder.pid}"):
            restore_backup(made.path, path, now=NOW)
    finally:
        holder.communicate("\n", timeout=30)
    assert keys(path) == ["r0", "r1", "r2"]


def test_restore_to_a_path_without_a_history(path: Path, tmp_path: Path) -> None:
    made = back_up(path, tmp_path / "b")
    other = tmp_path / "elsewhere.duckdb"
    restore_backup(made.path, other, now=NOW)
    assert keys(other) == ["r0", "r1", "r2"]


def test_compacting_keeps_everything_and_frees_space(path: Path) -> None:
    with History.open(path) as history:
        for number in range(30):
            add_run(history, f"more-{number}")
            history.checkpoint()
    before, chain = path.stat().st_size, read_sidecar(path)
    done = compact(path)
    assert (done.before, done.after) == (before, path.stat().st_size)
    assert done.after < done.before
    assert len(keys(path)) == 33
    after = read_sidecar(path)
    assert chain is not None
    assert after is not None
    assert (after.sequence, after.chain) == (chain.sequence, chain.chain)
    assert not list(path.parent.glob("*.partial*"))


@pytest.mark.parametrize("where", ["copy_database", "find_damage", "write_sidecar", "publish"])
def test_failing_compaction_leaves_the_history(
    path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    shutil.copy(path, path.with_name("copy"))
    monkeypatch.setattr(f"storage.file.upkeep.{where}", fail)
    with pytest.raises(HistoryError, match="was not compacted: No space left on device"):
        compact(path)
    monkeypatch.undo()
    assert path.read_bytes() == path.with_name("copy").read_bytes()
    assert not list(path.parent.glob("*.partial*"))
    with History.open(path) as history:
        assert len(list_runs(history, BENCHMARK)) == 3
    assert sidecar_path(path).is_file()
