"""Rewriting a history: migrating an older schema, compacting the file, moving old verdicts out."""

import contextlib
import re
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import duckdb
import pyarrow.parquet as pq

from storage.file.archives import COLUMNS
from storage.file.backups import Backup, copy_database, write_backup
from storage.file.commits import (
    compare_with_sidecar,
    has_chain,
    last_commit,
    row_counts,
    write_sidecar,
)
from storage.file.errors import RESTORE, HistoryDamagedError, HistoryError
from storage.file.files import PARTIAL, archive_folder, partial_of, publish, quoted, sha256, sync
from storage.file.history import History
from storage.file.lock import connected, note_written
from storage.file.opening import close_file, require_file
from storage.file.schema import apply_migrations, check_schema, shipped_migrations
from storage.file.sidecar import read_sidecar
from storage.file.verify import find_damage, wrong_verdicts
from storage.values import to_utc

WAIT_S: Final = 10.0
GRACE_S: Final = 0.1
"""Who opened the old file just before the swap has met our lock by then, and tries again."""
SMALL: Final = 1_000_000
"""An archive with fewer verdicts is written anew with those that follow."""
NAME: Final = re.compile(r"verdicts-\d{4,}\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What a migration did: versions, and the backup from before (None: nothing to do)."""

    before: int
    after: int
    backup: Backup | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """Size in bytes before and after."""

    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a retention did: runs and verdicts moved, and the file they are in."""

    n_runs: int
    n_verdicts: int
    path: Path | None


def migrate(path: Path, *, backup_folder: Path, now: datetime) -> Migrated:
    """Back up a history and apply the migrations it lacks, each in one transaction.

    Raises
    ------
    SchemaError
        If its schema is newer or edited, naming both versions; nothing is changed.
    HistoryDamagedError
        If it is not whole.
    HistoryError
        If the backup cannot be made; nothing is changed.
    """
    require_file(path)
    before, latest = _version_of_whole(path), shipped_migrations()[-1].version
    if before == latest:
        return Migrated(before=before, after=latest, backup=None)
    with connected(path, read_only=False, wait_seconds=WAIT_S) as connection:
        backup = write_backup(connection, path, backup_folder, now=now)
        note_written(path)
        apply_migrations(connection, shipped_migrations(), now=now)
        connection.execute("CHECKPOINT")
        if read_sidecar(path) is None:
            write_sidecar(connection, path)
        close_file(connection, path)
    return Migrated(before=before, after=latest, backup=backup)


def _version_of_whole(path: Path) -> int:
    """Version of a history that is whole and may be migrated."""
    # Opened for writing, DuckDB would drop what it cannot read of a cut log.
    with connected(path, read_only=True, wait_seconds=WAIT_S) as connection:
        version = check_schema(connection, path, older=True)
        if has_chain(connection):
            compare_with_sidecar(connection, path)
        damage = find_damage(connection, path)
    if damage:
        raise HistoryDamagedError(f"the history {path} is damaged: {damage[0]}; {RESTORE}")
    return version


def compact(path: Path) -> Compacted:
    """Rewrite a history without its free blocks.

    Others may read meanwhile, and wait to write.

    Raises
    ------
    HistoryError
        If the copy cannot be written or is not whole; the history stays as it was.
    """
    before = path.stat().st_size
    History.open(path, wait_seconds=WAIT_S).close()  # leaves no write-ahead log
    # Open for reading only, the old file keeps writers out until it is replaced.
    with (
        History.open(path, read_only=True, wait_seconds=WAIT_S) as history,
        partial_of(path) as partial,
    ):
        try:
            partial.unlink(missing_ok=True)
            history.check(lambda connection: _write_copy(connection, path, partial))
            after = partial.stat().st_size
            publish(partial, path)
        except OSError as error:
            raise HistoryError(f"{path} was not compacted: {error.strerror}") from error
        time.sleep(GRACE_S)
    return Compacted(before=before, after=after)


def _write_copy(connection: duckdb.DuckDBPyConnection, path: Path, partial: Path) -> None:
    copy_database(connection, partial)
    with connected(partial, read_only=True, wait_seconds=0.0) as copied:
        damage = find_damage(copied, path)
        if not damage and (last_commit(copied), row_counts(copied)) != (
            last_commit(connection),
            row_counts(connection),
        ):
            damage = ["the copy differs from the history"]
        if damage:
            raise HistoryDamagedError(f"{path} was not compacted: {damage[0]}")
        # Before the swap: afterwards another process may be ahead of us.
        write_sidecar(copied, path, file=partial)


def move_old_verdicts(history: History, *, before: datetime, now: datetime) -> Moved:
    """Move the verdicts of runs started before a time out of the history, whole runs only.

    A crash at any moment leaves each verdict in one place; doing it again is a no-op.

    Parameters
    ----------
    history : History
        Without an open transaction.
    before, now : datetime
        Aware.

    Raises
    ------
    HistoryError
        If the file cannot be written; nothing is moved then.
    """
    _remove_orphans(history)
    runs = history.rows(
        "SELECT run_id FROM run WHERE started_at < ?"
        " AND run_id NOT IN (SELECT run_id FROM archived_run) ORDER BY run_id",
        [to_utc(before, "`before`")],
    )
    moving = [run_id for (run_id,) in runs]
    if not moving:
        return Moved(n_runs=0, n_verdicts=0, path=None)
    archive_id, merged_id, runs_there = _choose_archive(history)
    all_runs = sorted({*moving, *runs_there})
    target = archive_folder(history.path) / f"verdicts-{archive_id:04d}.parquet"
    n_there = _write(history, all_runs, archive_id, target)
    with history.transaction():
        if merged_id is not None:
            history.execute("DELETE FROM archive WHERE archive_id = ?", [merged_id])
            history.execute("DELETE FROM archived_run WHERE archive_id = ?", [merged_id])
        history.insert_row(
            "archive",
            archive_id=archive_id,
            file_name=target.name,
            sha256=sha256(target),
            n_runs=len(all_runs),
            n_verdicts=n_there,
            n_bytes=target.stat().st_size,
            created_at=to_utc(now, "`now`"),
        )
        history.execute(
            "INSERT INTO archived_run SELECT unnest(?::INTEGER[]), ?", [all_runs, archive_id]
        )
        ((n_moved,),) = history.rows(
            "SELECT count(*) FROM verdict WHERE run_id IN (SELECT unnest(?::INTEGER[]))", [moving]
        )
        history.execute(
            "DELETE FROM verdict WHERE run_id IN (SELECT unnest(?::INTEGER[]))", [moving]
        )
    history.checkpoint()
    _remove_orphans(history)
    return Moved(n_runs=len(moving), n_verdicts=n_moved, path=target)


def _remove_orphans(history: History) -> None:
    """Delete archives that no run is in: of a crash, or written anew since."""
    folder = archive_folder(history.path)
    known = {name for (name,) in history.rows("SELECT file_name FROM archive")}
    for file in folder.glob("verdicts-*") if folder.is_dir() else ():
        name = file.name.removesuffix(PARTIAL)
        if NAME.fullmatch(name) and (name not in known or file.name != name):
            with contextlib.suppress(OSError):
                file.unlink()


def _choose_archive(history: History) -> tuple[int, int | None, list[int]]:
    """Id of the next archive, the one it takes the place of, and the runs of that."""
    next_id = history.next_id("archive")
    rows = history.rows(
        "SELECT archive_id, n_verdicts FROM archive ORDER BY archive_id DESC LIMIT 1"
    )
    if not rows or rows[0][1] >= SMALL:
        return next_id, None, []
    there = history.rows(
        "SELECT run_id FROM archived_run WHERE archive_id = ? ORDER BY run_id", [rows[0][0]]
    )
    return next_id, rows[0][0], [run_id for (run_id,) in there]


def _write(history: History, run_ids: list[int], archive_id: int, target: Path) -> int:
    """Write the verdicts of the runs, verified against their checksums; their number."""
    columns = ", ".join(f"v.{name}" for name in COLUMNS.split(", "))
    try:
        target.parent.mkdir(exist_ok=True)
        with partial_of(target) as partial:
            history.copy_to(
                partial,
                f"SELECT {archive_id}::INTEGER AS archive_id, {columns}"
                f" FROM {history.verdict_source(run_ids)} AS v"
                f" WHERE v.run_id IN (SELECT unnest({run_ids!r}::INTEGER[]))"
                " ORDER BY v.run_id, v.question_id, v.trial",
                "FORMAT parquet, COMPRESSION zstd",
            )
            written = f"(SELECT * FROM read_parquet({quoted(partial)}))"
            wrong = history.check(lambda connection: wrong_verdicts(connection, written, run_ids))
            if wrong:
                raise HistoryDamagedError(f"nothing is moved out of {history.path}: {wrong[0]}")
            sync(partial)
            publish(partial, target)
        with pq.ParquetFile(target) as file:
            return int(file.metadata.num_rows)
    except OSError as error:
        raise HistoryError(f"{target} cannot be written: {error.strerror}") from error
