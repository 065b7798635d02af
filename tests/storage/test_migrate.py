"""Migrating histories of past schemas, and refusing what cannot be migrated."""

import gzip
from pathlib import Path

import duckdb
import pytest

from storage.file.backups import list_backups
from storage.file.checkup import history_facts
from storage.file.errors import HistoryDamagedError, SchemaError
from storage.file.files import sidecar_path
from storage.file.history import History
from storage.file.schema import shipped_migrations
from storage.file.upkeep import migrate
from storage.ledger import JobStatus, list_job_runs
from storage.runs.benchmarks import overview
from storage.runs.runs import find_run, list_revisions, list_runs
from storage.runs.verdicts import load_matrix
from tests.storage.builders import NOW
from tests.storage.damage import filled

SCHEMAS = Path(__file__).with_name("schemas")
LATEST = shipped_migrations()[-1].version
FIXTURES = sorted(SCHEMAS.glob("*.duckdb.gz"))


def unpacked(fixture: Path, folder: Path) -> Path:
    path = folder / "history.duckdb"
    path.write_bytes(gzip.decompress(fixture.read_bytes()))
    return path


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_every_past_schema_has_a_fixture() -> None:
    past = [migration.version for migration in shipped_migrations()[:-1]]
    assert [int(file.name[:4]) for file in FIXTURES] == past


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda file: file.name[:4])
def test_past_schema_is_refused_then_migrated_with_all_it_holds(
    fixture: Path, tmp_path: Path
) -> None:
    path = unpacked(fixture, tmp_path)
    version = int(fixture.name[:4])
    with pytest.raises(SchemaError, match=rf"version {version}, older than version {LATEST}.*migr"):
        History.open(path)
    verdicts = rows(path, "SELECT * FROM verdict ORDER BY ALL")
    done = migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    assert (done.before, done.after) == (version, LATEST)
    assert rows(path, "SELECT * FROM verdict ORDER BY ALL") == verdicts
    with History.open(path) as history:
        assert history.notes == ()
        assert history_facts(history).damage == ()
        (numbers,) = overview(history)
        assert (numbers.n_runs, numbers.n_verdicts, numbers.n_questions) == (5, 100, 20)
        runs = list_runs(history, "kept")
        matrix = load_matrix(history, runs, [f"q{number:02d}" for number in range(20)])
        assert int(matrix.trials.sum()) == numbers.n_verdicts - numbers.n_missing
        assert len(list_revisions(history, find_run(history, "run-0"))) > 0
        assert [job.status for job in list_job_runs(history)] == [JobStatus.DONE, JobStatus.FAILED]
    assert done.backup is not None
    assert rows(done.backup.path, "SELECT max(version) FROM schema_migration") == [(version,)]
    assert rows(done.backup.path, "SELECT * FROM verdict ORDER BY ALL") == verdicts
    again = migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    assert again.backup is None
    assert len(list_backups(tmp_path / "backups", path)) == 1


def test_newer_schema_is_refused_untouched(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO schema_migration VALUES (99, 'later', 'x', 'y', NULL)")
    before = path.read_bytes()
    with pytest.raises(SchemaError, match=f"version 99, newer than version {LATEST}"):
        migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    assert path.read_bytes() == before
    assert not (tmp_path / "backups").exists()


def test_edited_schema_is_refused_untouched(tmp_path: Path) -> None:
    path = unpacked(FIXTURES[0], tmp_path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE verdict ADD COLUMN note VARCHAR")
    with pytest.raises(SchemaError, match="edited outside recurring-eval"):
        migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    assert not (tmp_path / "backups").exists()


def test_damaged_history_is_not_migrated(tmp_path: Path) -> None:
    path = unpacked(FIXTURES[0], tmp_path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM verdict WHERE run_id = 2")
    with pytest.raises(HistoryDamagedError, match=r"run run-1 \(kept\) has lost its 20 verdicts"):
        migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    assert not sidecar_path(path).exists()


def test_failing_migration_leaves_history_and_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpacked(FIXTURES[0], tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise duckdb.IOException("IO Error: No space left on device")

    monkeypatch.setattr("storage.file.upkeep.apply_migrations", fail)
    with pytest.raises(Exception, match="No space left on device; free some space"):
        migrate(path, backup_folder=tmp_path / "backups", now=NOW)
    assert rows(path, "SELECT max(version) FROM schema_migration") == [(1,)]
    monkeypatch.undo()
    assert migrate(path, backup_folder=tmp_path / "backups", now=NOW).after == LATEST
