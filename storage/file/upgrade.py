"""Bringing a history of an older schema up to date: backed up first."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from storage.file.backups import Backup, write_backup
from storage.file.commit_chain import has_chain
from storage.file.connect import connect, one_line_errors
from storage.file.errors import RESTORE, HistoryDamagedError
from storage.file.migrate import apply_migrations, check_schema, schema_version, shipped_migrations
from storage.file.open_files import descriptor_of, note_written, register, release
from storage.file.opening import compare_with_sidecar, current_sidecar, require_file
from storage.file.seal import seal
from storage.file.sidecar import read_sidecar, write_sidecar
from storage.file.verify import find_damage


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """What a migration did: versions, and the backup from before (None: nothing to do)."""

    before: int
    after: int
    backup: Backup | None


def upgrade(
    path: Path, *, backup_folder: Path, now: datetime, wait_seconds: float = 10.0
) -> Upgraded:
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
    before, latest = _check(path, wait_seconds), shipped_migrations()[-1].version
    if before == latest:
        return Upgraded(before=before, after=latest, backup=None)
    connection = connect(path, read_only=False, wait_seconds=wait_seconds)
    register(path)
    try:
        with one_line_errors(path):
            backup = write_backup(connection, path, backup_folder, now=now)
            note_written(path)
            apply_migrations(connection, shipped_migrations(), now=now)
            connection.execute("CHECKPOINT")
            if read_sidecar(path) is None:
                sidecar = current_sidecar(connection, path)
                write_sidecar(path, sidecar.closed(descriptor_of(path)))
        seal(connection, path)
        return Upgraded(before=before, after=latest, backup=backup)
    finally:
        connection.close()
        release(path)


def _check(path: Path, wait_seconds: float) -> int:
    """Tell the version of a history that is whole and may be brought up to date."""
    # Opened for writing, DuckDB would drop what it cannot read of a cut log.
    connection = connect(path, read_only=True, wait_seconds=wait_seconds)
    try:
        with one_line_errors(path):
            check_schema(connection, shipped_migrations(), path=str(path), older=True)
            if has_chain(connection):
                compare_with_sidecar(connection, path)
            damage = find_damage(connection, path)
        if damage:
            raise HistoryDamagedError(f"the history {path} is damaged: {damage[0]}; {RESTORE}")
        return schema_version(connection)
    finally:
        connection.close()
