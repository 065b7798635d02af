"""Backups: consistent copies of a history, verified by opening them again."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb

from storage.file.archives import list_archives
from storage.file.commits import has_chain, write_sidecar
from storage.file.errors import HistoryDamagedError, HistoryError
from storage.file.files import (
    PARTIAL,
    STAMP,
    archive_folder,
    copy_archives,
    publish,
    quoted,
    sidecar_path,
    sync,
)
from storage.file.lock import connected, descriptor_of, one_line_errors, register, release
from storage.file.sidecar import FileBytes, read_sidecar
from storage.file.verify import find_damage
from storage.values import to_utc

LEFT_S: Final = 3600
"""A partial copy older than this was left by a crash, not by a backup under way."""
NAME: Final = re.compile(r"(?P<stem>.+)-(?P<stamp>\d{8}T\d{6}Z)(?:-(?P<number>\d+))?\.duckdb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """One backup, with its sidecar and archives beside it."""

    path: Path
    made_at: datetime
    number: int

    @property
    def n_bytes(self) -> int:
        """Size of the main file."""
        return self.path.stat().st_size


def list_backups(folder: Path, path: Path) -> list[Backup]:
    """List the backups of the history at `path` in a folder, the oldest first."""
    found = []
    for file in folder.glob("*.duckdb") if folder.is_dir() else ():
        match = NAME.fullmatch(file.name)
        if match is not None and match["stem"] == path.stem:
            made_at = datetime.strptime(match["stamp"], STAMP).replace(tzinfo=UTC)
            found.append(Backup(path=file, made_at=made_at, number=int(match["number"] or 1)))
    return sorted(found, key=lambda backup: (backup.made_at, backup.number))


def copy_database(connection: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Copy every table of the connected database into the new file `target`.

    Others may go on writing; the copy holds what was committed when it began.

    Raises
    ------
    HistoryError
        If it cannot be written, e.g. because the disk is full; nothing is left of it then.
    """
    ((source,),) = connection.execute("SELECT current_database()").fetchall()
    logs = target.with_name(target.name + ".wal")
    try:
        with one_line_errors(target):
            connection.execute(f"ATTACH {quoted(target)} AS copied (READ_WRITE)")
            try:
                connection.execute(f'COPY FROM DATABASE "{source}" TO copied')
                connection.execute("CHECKPOINT copied")
            finally:
                with contextlib.suppress(duckdb.Error):
                    connection.execute("DETACH copied")
        if logs.exists():
            raise HistoryError(f"{target} could not be finished; see that the disk is not full")
        sync(target)
    except BaseException:
        for leftover in (target, logs):
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)
        raise


def write_backup(
    connection: duckdb.DuckDBPyConnection, path: Path, folder: Path, *, now: datetime
) -> Backup:
    """Copy the connected history at `path` into a folder and verify the copy.

    The copy has its name only when it is whole.

    Raises
    ------
    HistoryError
        If it cannot be written, or what was written is not what should have been.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in folder.glob(f"{path.stem}-*{PARTIAL}*"):
            if leftover.stat().st_mtime < now.timestamp() - LEFT_S:
                leftover.unlink()
        target = _free_name(folder, path.stem, now)
        partial = target.with_name(target.stem + PARTIAL + ".duckdb")
        with _removed_on_failure(partial, target):
            copy_database(connection, partial)
            if has_chain(connection):
                archives = list_archives(connection, path)
                copy_archives([archive.path for archive in archives], target)
            _verify(partial, target)
            sidecar = sidecar_path(partial)
            if sidecar.exists():
                publish(sidecar, sidecar_path(target))
            publish(partial, target)
    except OSError as error:
        raise HistoryError(
            f"no backup was made in {folder}: {error.strerror or error}; "
            "choose another folder with --to"
        ) from error
    return next(backup for backup in list_backups(folder, path) if backup.path == target)


def prune_backups(folder: Path, path: Path, *, keep: int, never: Path) -> list[Path]:
    """Delete all but the `keep` newest backups, and not `never`, with sidecars and archives."""
    old = [backup.path for backup in list_backups(folder, path)[: -max(keep, 1)]]
    gone = [backup for backup in old if backup != never]
    for backup in gone:
        remove_files(backup)
    return gone


def backup_problem(path: Path) -> str:
    """In what a backup differs from how it was written; empty if in nothing."""
    sidecar = read_sidecar(path)
    if sidecar is None or sidecar.file is None:
        return f"the backup {path} has no sidecar {sidecar_path(path).name}"
    register(path)
    try:
        now = FileBytes.of(descriptor_of(path))
    finally:
        release(path)
    if (now.size, now.crc32) != (sidecar.file.size, sidecar.file.crc32):
        return f"the backup {path} has changed since it was written"
    return ""


def remove_files(path: Path) -> None:
    """Delete a copy of a history with its sidecar, logs and archives."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
    sidecar_path(path).unlink(missing_ok=True)
    shutil.rmtree(archive_folder(path), ignore_errors=True)


def _verify(partial: Path, target: Path) -> None:
    """Read the copy `partial`, whose archives are already those of `target`."""
    with connected(partial, read_only=True, wait_seconds=0.0) as connection:
        damage = find_damage(connection, target)
        if damage:
            raise HistoryDamagedError(f"the copy {partial} is not whole: {damage[0]}")
        if has_chain(connection):
            write_sidecar(connection, partial)


def _free_name(folder: Path, stem: str, now: datetime) -> Path:
    stamp = to_utc(now, "`now`").strftime(STAMP)
    number = 1
    while True:
        more = f"-{number}" if number > 1 else ""
        target = folder / f"{stem}-{stamp}{more}.duckdb"
        if not target.exists():
            return target
        number += 1


@contextlib.contextmanager
def _removed_on_failure(partial: Path, target: Path) -> Iterator[None]:
    try:
        yield
        sync(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            remove_files(partial)
            if not target.exists():
                remove_files(target)
        raise
