"""Opening, creating and closing a history: what must hold before anybody reads from it.

Every opening compares the last commit with the sidecar, and the bytes of the file with
those it was last closed with. After a crash, or when the bytes are others, everything is
read and verified once. The last handle that wrote closes the file with an empty
write-ahead log and notes its bytes in the sidecar.
"""

import contextlib
from datetime import datetime
from pathlib import Path
from typing import Final

import duckdb

from storage.file.archives import missing_archives
from storage.file.commits import ACCEPT, compare_with_sidecar, write_sidecar
from storage.file.errors import RESTORE, HistoryDamagedError, HistoryError, HistoryNotFoundError
from storage.file.files import crc32, sidecar_path, write_ahead_logs
from storage.file.lock import (
    connect,
    connected,
    descriptor_of,
    must_be_sealed,
    note_written,
    one_line_errors,
    register,
    release,
)
from storage.file.schema import apply_migrations, check_schema, shipped_migrations
from storage.file.sidecar import FileBytes, read_sidecar
from storage.file.verify import find_damage

ALWAYS_READ: Final = 64 << 20
"""Files up to this size are read at every opening; larger ones when they look changed."""


def create_file(path: Path, *, now: datetime | None) -> None:
    """Write a history without any benchmark, and its sidecar.

    Raises
    ------
    HistoryError
        If there is a file already, or one left of a previous history, or it cannot be written.
    """
    if path.exists():
        raise HistoryError(f"{path} exists already; choose another path or use that history")
    for other in (sidecar_path(path), path.with_name(path.name + ".wal")):
        if other.exists():
            raise HistoryError(
                f"{other} belongs to a history that is gone; restore that with "
                f"`recurring-eval restore BACKUP`, or move {other.name} away"
            )
    with connected(path, read_only=False, wait_seconds=0.0) as connection:
        try:
            apply_migrations(connection, shipped_migrations(), now=now)
            connection.execute("CHECKPOINT")
            write_sidecar(connection, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def open_file(
    path: Path, *, read_only: bool, wait_seconds: float
) -> tuple[duckdb.DuckDBPyConnection, tuple[str, ...]]:
    """Open a history and count it as open in this process; `lock.release` ends that.

    Returns
    -------
    connection : duckdb.DuckDBPyConnection
    notes : tuple of str
        What was unusual about the file, one line each.

    Raises
    ------
    HistoryNotFoundError, HistoryLockedError, SchemaError
    HistoryDamagedError
        Naming what is missing or damaged, and what to do.
    """
    require_file(path)
    is_first = register(path)
    try:
        if not is_first:
            # What this process holds already was checked, and may be changing.
            return connect(path, read_only=read_only, wait_seconds=wait_seconds), ()
        if read_only or not write_ahead_logs(path):
            connection, notes = _open_checked(path, read_only=read_only, wait_seconds=wait_seconds)
        else:
            # Opened for writing, DuckDB would drop what it cannot read of a cut log.
            connection, notes = _open_checked(path, read_only=True, wait_seconds=wait_seconds)
            connection.close()
            connection = _connect(path, read_only=False, wait_seconds=wait_seconds)
        if notes and not read_only:
            note_written(path)
        return connection, notes
    except BaseException:
        release(path)
        raise


def close_file(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Checkpoint and note how the file is left, if this handle is the last that wrote.

    What was committed is safe without: should it fail, the next opening reads and
    verifies everything.
    """
    if must_be_sealed(path):
        with contextlib.suppress(duckdb.Error, OSError, HistoryError):
            connection.execute("CHECKPOINT")
            if not write_ahead_logs(path):
                write_sidecar(connection, path)


def require_file(path: Path) -> None:
    """Refuse a path without a history.

    Raises
    ------
    HistoryNotFoundError
        If there is no file and never was one.
    HistoryDamagedError
        If the file is gone or emptied while its sidecar is there.
    """
    try:
        if path.is_file() and path.stat().st_size:
            return
    except OSError as error:
        raise HistoryError(f"the history {path} cannot be read: {error.strerror}") from error
    what = "does not exist"
    if path.exists():
        what = "is empty" if path.is_file() else "is a folder, not a file"
    if sidecar_path(path).is_file():
        raise HistoryDamagedError(
            f"the history {path} {what}, but its sidecar {sidecar_path(path).name} is there; "
            f"{RESTORE}, or move that away and start anew with `recurring-eval init`"
        )
    raise HistoryNotFoundError(f"the history {path} {what}; create one with `recurring-eval init`")


def _open_checked(
    path: Path, *, read_only: bool, wait_seconds: float
) -> tuple[duckdb.DuckDBPyConnection, tuple[str, ...]]:
    connection = _connect(path, read_only=read_only, wait_seconds=wait_seconds)
    try:
        with one_line_errors(path):
            check_schema(connection, path)
            notes = _check(connection, path, has_log=bool(write_ahead_logs(path)))
        if notes and not write_ahead_logs(path):
            # Makes the next opening quick again; where that is not permitted it is not.
            with contextlib.suppress(OSError, HistoryError):
                write_sidecar(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection, tuple(notes)


def _connect(path: Path, *, read_only: bool, wait_seconds: float) -> duckdb.DuckDBPyConnection:
    try:
        return connect(path, read_only=read_only, wait_seconds=wait_seconds, in_turn=True)
    except HistoryDamagedError as error:
        logs = write_ahead_logs(path)
        if not logs or "wal" not in str(error).lower():
            raise
        raise HistoryDamagedError(
            f"{error}, {ACCEPT}; its write-ahead log {logs[0].name} cannot be read"
        ) from error


def _check(connection: duckdb.DuckDBPyConnection, path: Path, *, has_log: bool) -> list[str]:
    sidecar = read_sidecar(path)
    notes = compare_with_sidecar(connection, path)
    damage = missing_archives(connection, path)
    if has_log:
        notes.append("a write-ahead log was left by a crash")
    elif sidecar is not None and not _same_bytes(path, sidecar.file):
        notes.append(f"{path.name} was changed since it was last closed (a crash, or from outside)")
    if notes and not damage:
        damage = find_damage(connection, path)
        notes.append("every table and run was read and is whole")
    if damage:
        raise HistoryDamagedError(f"the history {path} is damaged: {damage[0]}; {RESTORE}")
    return notes


def _same_bytes(path: Path, file: FileBytes | None) -> bool:
    if file is None:
        return False
    status = path.stat()
    if status.st_size != file.size:
        return False
    if status.st_mtime_ns == file.mtime_ns and status.st_size > ALWAYS_READ:
        return True
    return crc32(descriptor_of(path)) == file.crc32
