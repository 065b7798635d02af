"""The sidecar: a history that lost anything is never opened as if nothing were."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from storage.file.checkup import accept_loss, accepted_losses
from storage.file.errors import HistoryDamagedError, HistoryError, HistoryNotFoundError
from storage.file.files import publish, sidecar_path
from storage.file.history import History
from storage.file.sidecar import prepare_sidecar, read_sidecar
from storage.runs.runs import list_runs
from tests.storage.builders import BENCHMARK, EMPTY, NOW
from tests.storage.damage import add_run, crash_after_adding, filled, flip, log_of, truncate


def keys(path: Path, **options: bool) -> list[str]:
    with History.open(path, **options) as history:
        return [run.run_key for run in list_runs(history, BENCHMARK)]


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_every_commit_is_in_the_sidecar_and_in_the_history(path: Path) -> None:
    with History.open(path) as history:
        assert history.notes == ()
        before = read_sidecar(path)
        add_run(history, "more")
        after = read_sidecar(path)
    assert before is not None
    assert after is not None
    assert after.sequence == before.sequence + 1
    assert after.recent[-1] == (after.sequence, "run +1, verdict +10")
    (row,) = rows(path, "SELECT sequence, chain FROM commit_log ORDER BY sequence DESC LIMIT 1")
    assert row == (after.sequence, after.chain)


def interrupted(history: History) -> None:
    with history.transaction():
        history.execute("DELETE FROM run")
        raise KeyboardInterrupt


def test_transaction_without_effect_is_no_commit(path: Path) -> None:
    before = read_sidecar(path)
    with History.open(path) as history:
        with history.transaction():
            list_runs(history, BENCHMARK)
        with pytest.raises(KeyboardInterrupt):
            interrupted(history)
    after = read_sidecar(path)
    assert before is not None
    assert after is not None
    assert (after.sequence, after.chain) == (before.sequence, before.chain)
    assert not list(path.parent.glob("*.partial"))
    assert keys(path) == ["r0", "r1", "r2"]


def test_chains_of_different_commits_differ(tmp_path: Path) -> None:
    one, two = (filled(tmp_path / f"{name}.duckdb") for name in "ab")
    chains = []
    for file, outcome in ((one, 1), (two, 0)):
        with History.open(file) as history:
            add_run(history, "same key", outcome=outcome)
        chains.append(read_sidecar(file))
    assert chains[0] is not None
    assert chains[1] is not None
    assert chains[0].chain != chains[1].chain


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("harm", ["delete", "truncate"])
def test_lost_log_is_refused_naming_what_is_missing(path: Path, harm: str, read_only: bool) -> None:
    crash_after_adding(path, "x", "y")
    log = log_of(path)
    if harm == "delete":
        log.unlink()
    else:
        truncate(log, log.stat().st_size // 2)
    before = path.read_bytes()
    with pytest.raises(HistoryDamagedError) as caught:
        History.open(path, read_only=read_only)
    message = str(caught.value)
    assert "lost commits" in message
    assert "run +1, verdict +10" in message
    assert "recurring-eval restore" in message
    assert "--accept-loss" in message
    assert path.read_bytes() == before


def test_flipped_log_is_refused_by_name(path: Path) -> None:
    crash_after_adding(path, "x")
    flip(log_of(path), log_of(path).stat().st_size // 2)
    with pytest.raises(HistoryDamagedError, match=r"history\.duckdb\.wal.*recurring-eval restore"):
        History.open(path)


@pytest.mark.parametrize("read_only", [False, True])
def test_crash_with_a_whole_log_loses_nothing(path: Path, read_only: bool) -> None:
    crash_after_adding(path, "x", "y")
    with History.open(path, read_only=read_only) as history:
        assert any("write-ahead log was left by a crash" in note for note in history.notes)
        assert len(list_runs(history, BENCHMARK)) == 5
    assert len(keys(path)) == 5
    with History.open(path) as history:
        assert history.notes == ()


def test_sidecar_that_missed_a_commit_catches_up(path: Path) -> None:
    old = sidecar_path(path).read_bytes()
    with History.open(path) as history:
        add_run(history, "x")
    sidecar_path(path).write_bytes(old)
    with History.open(path) as history:
        assert "did not know the last 1 commits yet" in history.notes[0]
        assert len(list_runs(history, BENCHMARK)) == 4
    with History.open(path, read_only=True) as history:
        assert history.notes == ()


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"format": 99}'])
def test_lost_sidecar_is_written_anew_with_a_note(path: Path, content: bytes | None) -> None:
    if content is None:
        sidecar_path(path).unlink()
    else:
        sidecar_path(path).write_bytes(content)
    with History.open(path, read_only=True) as history:
        assert "history.seq is missing or unreadable" in history.notes[0]
        assert "is whole" in history.notes[-1]
    with History.open(path) as history:
        assert history.notes == ()


def test_older_copy_in_the_place_of_the_history_is_refused(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old")
    with History.open(path) as history:
        add_run(history, "x")
    shutil.copy(tmp_path / "old", path)
    numbers = f"ends with number {EMPTY + 4}, but history.seq knows {EMPTY + 5}"
    with pytest.raises(HistoryDamagedError, match=numbers):
        History.open(path)


def test_history_of_something_else_is_refused(path: Path, tmp_path: Path) -> None:
    other = filled(tmp_path / "other.duckdb")
    for file, outcome in ((path, 1), (other, 0)):
        with History.open(file) as history:
            add_run(history, "x", outcome=outcome)
    shutil.copy(other, path)
    with pytest.raises(HistoryDamagedError, match=r"is not the one that history.seq belongs to"):
        History.open(path)


def test_rows_changed_from_outside_are_noticed(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM verdict WHERE question_id = 3")
    with pytest.raises(HistoryDamagedError, match=r"table verdict has 27 rows.*left 30"):
        History.open(path)


def test_verdicts_changed_from_outside_are_noticed(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE verdict SET passed = 0 WHERE run_id = 2 AND question_id = 3")
    with pytest.raises(HistoryDamagedError, match=r"run r1 \(swebench-verified\).*checksum"):
        History.open(path, read_only=True)


def test_missing_or_empty_file_with_a_sidecar_is_damage(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(HistoryDamagedError, match="is empty, but its sidecar"):
        History.open(path)
    path.unlink()
    with pytest.raises(HistoryDamagedError, match="does not exist, but its sidecar"):
        History.open(path)
    with pytest.raises(HistoryError, match=r"history\.seq belongs to a history that is gone"):
        History.create(path)
    sidecar_path(path).unlink()
    with pytest.raises(HistoryNotFoundError, match="init"):
        History.open(path)


def test_moved_history_opens_without_a_note(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for file in (path, sidecar_path(path)):
        shutil.copyfile(file, folder / file.name)
    with History.open(folder / path.name) as history:
        assert history.notes == ()


def test_second_handle_does_not_mistake_the_first_ones_work_for_damage(path: Path) -> None:
    with History.open(path) as first:
        add_run(first, "x")
        with History.open(path) as second:
            assert second.notes == ()
            add_run(second, "y")
        add_run(first, "z")
    with History.open(path, read_only=True) as history:
        assert history.notes == ()
        assert len(list_runs(history, BENCHMARK)) == 6


def test_loss_is_accepted_for_a_reason_that_is_kept(path: Path) -> None:
    assert accept_loss(path, reason="none", now=NOW) is None
    crash_after_adding(path, "x", "y")
    log_of(path).unlink()
    loss = accept_loss(path, reason="imported again from the logs", now=NOW)
    assert loss is not None
    lost = f"commits {EMPTY + 5} to {EMPTY + 6} (lost: run +1, verdict +10;"
    assert loss.lost.startswith(lost)
    with History.open(path) as history:
        assert history.notes == ()
        assert accepted_losses(history) == [loss]
        add_run(history, "x")
    after = read_sidecar(path)
    assert after is not None
    assert after.sequence == EMPTY + 8


def test_unreadable_log_is_set_aside_when_its_loss_is_accepted(path: Path) -> None:
    crash_after_adding(path, "x")
    flip(log_of(path), log_of(path).stat().st_size // 2)
    loss = accept_loss(path, reason="power cut", now=NOW)
    assert loss is not None
    assert "history.duckdb.wal.aside-20260301T020000Z" in loss.lost
    assert log_of(path).with_name(log_of(path).name + ".aside-20260301T020000Z").is_file()
    assert keys(path) == ["r0", "r1", "r2"]


def test_damaged_run_cannot_be_given_up(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM verdict WHERE question_id = 3")
    with pytest.raises(HistoryDamagedError, match=r"cannot be given up.*restore"):
        accept_loss(path, reason="x", now=NOW)


def test_sidecar_round_trip(path: Path) -> None:
    sidecar = read_sidecar(path)
    assert sidecar is not None
    publish(prepare_sidecar(path, sidecar), sidecar_path(path))
    assert read_sidecar(path) == sidecar
    assert json.loads(sidecar_path(path).read_text())["format"] == 1
