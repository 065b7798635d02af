"""Putting a backup in the place of a history; what was there is set aside, never deleted."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import duckdb

from storage.file.backups import STAMP
from storage.file.checkup import record_loss
from storage.file.commits import last_commit
from storage.file.errors import HistoryError, HistoryLockedError, HistoryNotFoundError
from storage.file.files import archive_folder, copy_durably, sidecar_path, sync_folder
from storage.file.lock import connect
from storage.file.opening import describe_lost
from storage.file.schema import check_schema, schema_version, shipped_migrations
from storage.file.sidecar import read_sidecar
from storage.file.verify import find_damage
from storage.times import to_utc

RESTORING: Final = ".restoring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did.

    Attributes
    ----------
    backup, path : Path
    set_aside : tuple of Path
        Where the former files are now.
    lost : str
        The commits that the backup lacks, empty if none are known.
    schema_version : int
    """

    backup: Path
    path: Path
    set_aside: tuple[Path, ...]
    lost: str
    schema_version: int


def restore_backup(backup: Path, path: Path, *, now: datetime) -> Restored:
    """Verify a backup and put it in the place of the history at `path`.

    Raises
    ------
    HistoryNotFoundError, SchemaError
    HistoryLockedError
        If a process has the history open.
    HistoryError
        If the backup is not whole or there is no room; the history is untouched then.
    """
    if not backup.is_file():
        raise HistoryNotFoundError(f"there is no backup {backup}")
    if backup.resolve() == path.resolve():
        raise HistoryError(f"{backup} is the history itself; name a backup")
    _require_unused(path)
    version, sequence = _check_backup(backup)
    sidecar = read_sidecar(path)
    behind = sidecar is not None and sidecar.sequence > sequence
    lost = ""
    if sidecar is not None and behind:
        lost = f"commits {sequence + 1} to {sidecar.sequence}{describe_lost(sidecar, sequence)}"
    incoming = path.with_name(path.name + RESTORING)
    try:
        with _removed(incoming):
            copy_durably(backup, incoming)
            aside = _set_aside(path, now)
            # Until the next line there is no history, and its absence is noticed.
            incoming.replace(path)
            _copy_archives(backup, path)
            sync_folder(path.parent)
    except OSError as error:
        raise HistoryError(f"{backup} was not restored to {path}: {error.strerror}") from error
    if version == shipped_migrations()[-1].version:
        expected = sequence if sidecar is None else sidecar.sequence
        record_loss(
            path, reason=f"restored from {backup.name}", lost=lost, expected=expected, now=now
        )
    return Restored(
        backup=backup, path=path, set_aside=tuple(aside), lost=lost, schema_version=version
    )


def _check_backup(backup: Path) -> tuple[int, int]:
    """Tell the schema version and last commit of a backup that is whole."""
    connection = connect(backup, read_only=True, wait_seconds=1.0)
    try:
        check_schema(connection, shipped_migrations(), path=str(backup), older=True)
        damage = find_damage(connection, backup)
        if damage:
            raise HistoryError(f"the backup {backup} is damaged: {damage[0]}; choose another one")
        version = schema_version(connection)
        commit = last_commit(connection) if version > 1 else None
        sidecar = read_sidecar(backup)
        sequence = 0 if commit is None else commit.sequence
        if sidecar is not None and sidecar.sequence > sequence:
            raise HistoryError(
                f"the backup {backup} has lost commits: it ends with number {sequence}, "
                f"its sidecar knows {sidecar.sequence}; choose another one"
            )
        return version, sequence
    except duckdb.Error as error:
        first_line = str(error).partition("\n")[0]
        raise HistoryError(f"the backup {backup} cannot be read: {first_line}") from error
    finally:
        connection.close()


def _require_unused(path: Path) -> None:
    """Refuse while a process has the history open; a damaged one is nobody's."""
    if not path.is_file():
        return
    try:
        connect(path, read_only=True, wait_seconds=2.0).close()
    except HistoryLockedError:
        raise
    except HistoryError:
        return


def _set_aside(path: Path, now: datetime) -> list[Path]:
    stamp = to_utc(now, "`now`").strftime(STAMP)
    number = 1
    while path.with_name(f"{path.stem}.aside-{stamp}-{number}{path.suffix}").exists():
        number += 1
    stem = f"{path.stem}.aside-{stamp}-{number}"
    moved = []
    for file in (
        *sorted(path.parent.glob(f"{path.name}.wal*")),
        archive_folder(path),
        path,
    ):
        if file.exists():
            target = path.with_name(stem + file.name.removeprefix(path.stem))
            file.replace(target)
            moved.append(target)
    sidecar = sidecar_path(path)
    if sidecar.exists():
        # Copied, not moved: until the backup is in place it tells that a history is missing.
        target = path.with_name(stem + sidecar.suffix)
        copy_durably(sidecar, target)
        moved.append(target)
    return moved


def _copy_archives(backup: Path, path: Path) -> None:
    if not archive_folder(backup).is_dir():
        return
    archive_folder(path).mkdir(exist_ok=True)
    for file in sorted(archive_folder(backup).glob("*.parquet")):
        copy_durably(file, archive_folder(path) / file.name)


@contextlib.contextmanager
def _removed(incoming: Path) -> Iterator[None]:
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            incoming.unlink()
