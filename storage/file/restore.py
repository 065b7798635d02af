"""Putting a backup in the place of a history; what was there is set aside, never deleted."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import duckdb

from storage.file.checkup import record_loss
from storage.file.commits import has_chain, last_commit
from storage.file.errors import HistoryError, HistoryLockedError, HistoryNotFoundError
from storage.file.files import (
    STAMP,
    archive_folder,
    copy_archives,
    copy_durably,
    sidecar_path,
    sync,
)
from storage.file.lock import connect, connected
from storage.file.schema import check_schema, shipped_migrations
from storage.file.sidecar import read_sidecar
from storage.file.verify import find_damage
from storage.values import to_utc

RESTORING: Final = ".restoring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did.

    Attributes
    ----------
    backup, path : Path
    set_aside : tuple of Path
        Where the previous files are now.
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
    lost = ""
    if sidecar is not None and sidecar.sequence > sequence:
        lost = f"commits {sequence + 1} to {sidecar.sequence}{sidecar.lost_after(sequence)}"
    incoming = path.with_name(path.name + RESTORING)
    try:
        copy_durably(backup, incoming)
        aside = _set_aside(path, now)
        # Until the next line there is no history, and its absence is noticed.
        incoming.replace(path)
        copy_archives(sorted(archive_folder(backup).glob("*.parquet")), path)
        sync(path.parent)
    except OSError as error:
        raise HistoryError(f"{backup} was not restored to {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            incoming.unlink()
    if version == shipped_migrations()[-1].version:
        expected = sequence if sidecar is None else sidecar.sequence
        record_loss(
            path, reason=f"restored from {backup.name}", lost=lost, expected=expected, now=now
        )
    return Restored(
        backup=backup, path=path, set_aside=tuple(aside), lost=lost, schema_version=version
    )


def _check_backup(backup: Path) -> tuple[int, int]:
    """Find the schema version and last commit of a backup, which must be whole."""
    with connected(backup, read_only=True, wait_seconds=1.0) as connection:
        try:
            version = check_schema(connection, backup, older=True)
            damage = find_damage(connection, backup)
            sequence = last_commit(connection).sequence if has_chain(connection) else 0
        except duckdb.Error as error:
            first_line = str(error).partition("\n")[0]
            raise HistoryError(f"the backup {backup} cannot be read: {first_line}") from error
    if damage:
        raise HistoryError(f"the backup {backup} is damaged: {damage[0]}; choose another one")
    sidecar = read_sidecar(backup)
    if sidecar is not None and sidecar.sequence > sequence:
        raise HistoryError(
            f"the backup {backup} has lost commits: it ends with number {sequence}, "
            f"its sidecar knows {sidecar.sequence}; choose another one"
        )
    return version, sequence


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
