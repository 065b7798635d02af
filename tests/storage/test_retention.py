"""Old verdicts in files beside the history: still there for whoever reads."""

import shutil
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest

from storage.export import export_tables
from storage.file.archives import list_archives, verdict_source
from storage.file.backups import write_backup
from storage.file.checkup import history_facts
from storage.file.errors import HistoryDamagedError
from storage.file.files import archive_folder
from storage.file.history import History
from storage.file.restore import restore_backup
from storage.file.upkeep import move_old_verdicts
from storage.runs.benchmarks import overview
from storage.runs.runs import find_run, list_revisions, list_runs
from storage.runs.verdicts import load_log, load_matrix, load_reasons
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, days, log
from tests.storage.damage import filled


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = filled(tmp_path_factory.mktemp("six") / "history.duckdb", runs=0)
    with History.open(path) as history, history.transaction():
        logs = [
            log(
                f"r{number}",
                {**dict.fromkeys(QUESTIONS, number % 2), "q03": "timeout"},
                started_at=START + days(number),
            )
            for number in range(6)
        ]
        write_runs(history, BENCHMARK, logs, imported_at=NOW)
    return path.parent


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """Six runs, one a day, with a missing verdict each."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "history.duckdb"


def cutoff(number: float) -> datetime:
    return START + days(number)


def everything(history: History) -> list[object]:
    """What readers see, independent of where verdicts are."""
    runs = list_runs(history, BENCHMARK)
    matrix = load_matrix(history, runs, QUESTIONS)
    logs = [load_log(history, run) for run in runs]
    return [
        runs,
        matrix.passes.tolist(),
        matrix.trials.tolist(),
        load_reasons(history, runs),
        [(item.outcome.tolist(), item.reason_index.tolist()) for item in logs],
        overview(history),
    ]


def archive_files(history: History) -> list[Path]:
    archives = history.check(lambda connection: list_archives(connection, history.path))
    return [archive.path for archive in archives]


def rows_in_table(history: History) -> int:
    return int(history.rows("SELECT count(*) FROM verdict")[0][0])


def test_moved_verdicts_are_read_as_before(path: Path) -> None:
    with History.open(path) as history:
        before = everything(history)
        moved = move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        assert (moved.n_runs, moved.n_verdicts) == (3, 30)
        assert rows_in_table(history) == 30
        assert everything(history) == before
        again = move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        assert (again.n_runs, again.path) == (0, None)
    with History.open(path, read_only=True) as history:
        assert history.notes == ()
        assert everything(history) == before
        facts = history_facts(history)
    assert (facts.damage, facts.n_archives, facts.n_archived_runs) == ((), 1, 3)


def test_archive_is_plain_parquet_of_whole_runs(path: Path) -> None:
    with History.open(path) as history:
        moved = move_old_verdicts(history, before=cutoff(1.5), now=NOW)
    counts = duckdb.sql(
        f"SELECT run_id, count(*) FROM read_parquet('{moved.path}') GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert counts == [(1, 10), (2, 10)]


def test_small_archives_are_merged_and_the_old_file_goes(path: Path) -> None:
    with History.open(path) as history:
        before = everything(history)
        for number in range(1, 5):
            move_old_verdicts(history, before=cutoff(number - 0.5), now=NOW)
            assert len(archive_files(history)) == 1
            assert list(archive_folder(path).iterdir()) == archive_files(history)
        assert everything(history) == before
        assert rows_in_table(history) == 20


def test_run_imported_again_comes_back(path: Path) -> None:
    with History.open(path) as history:
        move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        changed = {**dict.fromkeys(QUESTIONS, 1), "q03": "timeout"}
        same = {**dict.fromkeys(QUESTIONS, 1), "q03": "timeout"}
        with history.transaction():
            results = write_runs(
                history,
                BENCHMARK,
                [
                    log("r0", changed, started_at=START),
                    log("r1", same, started_at=START + days(1)),
                    log("r2", [("q01", 2, 1)], started_at=START + days(2)),
                ],
                imported_at=NOW,
                replace=True,
            )
        assert [result.status for result in results] == ["replaced", "already there", "extended"]
        assert history_facts(history).damage == ()
        assert rows_in_table(history) == 30 + 10 + 11
        matrix = load_matrix(history, list_runs(history, BENCHMARK), QUESTIONS)
        assert matrix.passes[0].tolist() == [1, 1, 1, 0, 1, 1, 1, 1, 1, 1]
        assert matrix.trials[2].tolist() == [1, 2, 1, 0, 1, 1, 1, 1, 1, 1]
        revisions = list_revisions(history, find_run(history, "r0"))
        assert {(item.old, item.new) for item in revisions} == {("fail", "pass")}
        assert len(revisions) == 9
        before = everything(history)
        move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        assert everything(history) == before
        assert history_facts(history).damage == ()


@pytest.mark.parametrize("moment", ["publish", "commit"])
def test_crash_leaves_each_verdict_in_one_place(
    path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    target = {
        "publish": "storage.file.upkeep.publish",
        "commit": "storage.file.history.commit_with_sidecar",
    }
    with History.open(path) as history:
        before = everything(history)

        def crash(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(target[moment], crash)
        with pytest.raises(KeyboardInterrupt):
            move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        monkeypatch.undo()
        assert everything(history) == before
        assert rows_in_table(history) == 60
        move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        assert everything(history) == before
        assert list(archive_folder(path).iterdir()) == archive_files(history)


@pytest.mark.parametrize("harm", ["delete", "truncate", "flip"])
def test_damaged_archive_is_named_and_restored(path: Path, tmp_path: Path, harm: str) -> None:
    with History.open(path) as history:
        move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        before = everything(history)
        (file,) = archive_files(history)
        backup = history.check(lambda c: write_backup(c, path, tmp_path / "b", now=NOW))
    content = file.read_bytes()
    if harm == "delete":
        file.unlink()
    elif harm == "truncate":
        file.write_bytes(content[:-20])
    else:
        file.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    if harm == "flip":
        with History.open(path) as history:
            assert "its SHA-256 is not the recorded one" in history_facts(history).damage[0]
    else:
        with pytest.raises(HistoryDamagedError, match=r"verdicts-0001\.parquet.*restore"):
            History.open(path)
    restore_backup(backup.path, path, now=NOW)
    with History.open(path) as history:
        assert everything(history) == before
        assert history_facts(history).damage == ()


def test_export_holds_moved_verdicts(path: Path, tmp_path: Path) -> None:
    with History.open(path) as history:
        export_tables(history, tmp_path / "before")
        move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        export_tables(history, tmp_path / "after")
    query = "SELECT * FROM read_parquet('{}/verdicts.parquet') ORDER BY ALL"
    before, after = (
        duckdb.sql(query.format(tmp_path / name)).fetchall() for name in ("before", "after")
    )
    assert after == before
    assert len(after) == 60


def test_readers_of_recent_runs_touch_no_archive(path: Path) -> None:
    with History.open(path) as history:
        move_old_verdicts(history, before=cutoff(2.5), now=NOW)
        recent = [run.run_id for run in list_runs(history, BENCHMARK, since=cutoff(3))]
        assert history.check(lambda c: verdict_source(c, path, recent)) == "verdict"
        old = np.array([1])
        assert "read_parquet" in history.check(lambda c: verdict_source(c, path, old.tolist()))
