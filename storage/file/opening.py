"""Opening a history: what must hold before anybody reads from it.

Cheap checks every time: the last commit and the rows of every table against the
sidecar and the commit log, and the bytes of the file as it was last closed. After a
crash, or when the bytes are others, everything is read and verified once.
"""

import contextlib
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import duckdb

from storage.file.commits import chain_at, last_commit
from storage.file.errors import RESTORE, HistoryDamagedError, HistoryError, HistoryNotFoundError
from storage.file.files import crc32, sidecar_path, write_ahead_logs
from storage.file.lock import (
    connect,
    descriptor_of,
    must_be_sealed,
    note_written,
    one_line_errors,
    passing_gate,
    register,
    release,
)
from storage.file.schema import apply_migrations, check_schema, shipped_migrations
from storage.file.sidecar import FileBytes, Sidecar, read_sidecar, write_sidecar
from storage.file.verify import find_damage, missing_archives, wrong_counts

ALWAYS_READ: Final = 64 << 20
"""Files up to this size are read at every opening; larger ones when they look changed."""

ACCEPT: Final = 'or give up what is missing with `recurring-eval doctor --accept-loss "WHY"`'


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A connection whose file passed the checks.

    Attributes
    ----------
    connection : duckdb.DuckDBPyConnection
    notes : tuple of str
        What was unusual about the file, one line each.
    unclean : bool
        Whether the sidecar should be written anew when the history is closed.
    """

    connection: duckdb.DuckDBPyConnection
    notes: tuple[str, ...] = ()
    unclean: bool = False


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


def open_counted(path: Path, *, read_only: bool, wait_seconds: float) -> Opened:
    """Open a history and count it as open in this process; `open_files.release` ends that.

    Raises
    ------
    HistoryNotFoundError, HistoryLockedError, SchemaError, HistoryDamagedError
    """
    require_file(path)
    # What this process holds already was checked, and may be changing.
    open_file = open_checked if register(path) else open_again
    try:
        opened = open_file(path, read_only=read_only, wait_seconds=wait_seconds)
    except BaseException:
        release(path)
        raise
    if opened.unclean and not read_only:
        note_written(path)
    return opened


def open_checked(path: Path, *, read_only: bool, wait_seconds: float) -> Opened:
    """Connect to a history and make sure that nothing of it was lost.

    Raises
    ------
    HistoryLockedError, SchemaError
    HistoryDamagedError
        Naming what is missing or damaged, and what to do.
    """
    if not read_only and write_ahead_logs(path):
        # Opened for writing, DuckDB would drop what it cannot read of a cut log.
        opened = _open(path, read_only=True, wait_seconds=wait_seconds)
        opened.connection.close()
        connection = _connect(path, read_only=False, wait_seconds=wait_seconds)
        return replace(opened, connection=connection, unclean=True)
    return _open(path, read_only=read_only, wait_seconds=wait_seconds)


def open_again(path: Path, *, read_only: bool, wait_seconds: float) -> Opened:
    """Connect to a history that this process has open."""
    return Opened(connection=connect(path, read_only=read_only, wait_seconds=wait_seconds))


def _open(path: Path, *, read_only: bool, wait_seconds: float) -> Opened:
    connection = _connect(path, read_only=read_only, wait_seconds=wait_seconds)
    try:
        with one_line_errors(path):
            check_schema(connection, shipped_migrations(), path=str(path))
            notes = _check(connection, path, has_log=bool(write_ahead_logs(path)))
        if notes and not write_ahead_logs(path):
            _renew_sidecar(connection, path)
    except BaseException:
        connection.close()
        raise
    return Opened(connection=connection, notes=tuple(notes), unclean=bool(notes))


def _connect(path: Path, *, read_only: bool, wait_seconds: float) -> duckdb.DuckDBPyConnection:
    try:
        with passing_gate(path, wait_seconds=wait_seconds) as left:
            return connect(path, read_only=read_only, wait_seconds=left, told_wait=wait_seconds)
    except HistoryDamagedError as error:
        logs = write_ahead_logs(path)
        about_log = logs and "wal" in str(error).lower()
        if not about_log:
            raise
        raise HistoryDamagedError(
            f"{error}, {ACCEPT}; its write-ahead log {logs[0].name} cannot be read"
        ) from error


def _check(connection: duckdb.DuckDBPyConnection, path: Path, *, has_log: bool) -> list[str]:
    sidecar = read_sidecar(path)
    notes = compare_with_sidecar(connection, path)
    problems = [*wrong_counts(connection), *missing_archives(connection, path)]
    if problems:
        raise HistoryDamagedError(f"the history {path} is damaged: {problems[0]}; {RESTORE}")
    if has_log:
        notes.append("a write-ahead log was left by a crash")
    elif sidecar is not None and not _same_bytes(path, sidecar.file):
        notes.append(f"{path.name} was changed since it was last closed (a crash, or from outside)")
    if notes:
        damage = find_damage(connection, path)
        if damage:
            raise HistoryDamagedError(f"the history {path} is damaged: {damage[0]}; {RESTORE}")
        notes.append("every table and run was read and is whole")
    return notes


def compare_with_sidecar(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Say in what a history goes beyond its sidecar.

    Raises
    ------
    HistoryDamagedError
        If it is behind its sidecar, or not the one that belongs to it.
    """
    sidecar = read_sidecar(path)
    commit = last_commit(connection)
    name = sidecar_path(path).name
    sequence = 0 if commit is None else commit.sequence
    if sidecar is None:
        return [f"the sidecar {name} is missing or unreadable; it is written anew"]
    if sequence < sidecar.sequence:
        raise HistoryDamagedError(
            f"the history {path} has lost commits: it ends with number {sequence}, but {name} "
            f"knows {sidecar.sequence}{describe_lost(sidecar, sequence)}; {RESTORE}, {ACCEPT}"
        )
    if chain_at(connection, sidecar.sequence) != sidecar.chain:
        raise HistoryDamagedError(
            f"the history {path} is not the one that {name} belongs to: commit "
            f"{sidecar.sequence} differs; {RESTORE}, {ACCEPT}"
        )
    if sequence > sidecar.sequence:
        return [
            f"{name} did not know the last {sequence - sidecar.sequence} commits yet; "
            "it continues with them"
        ]
    return []


def describe_lost(sidecar: Sidecar, sequence: int) -> str:
    """Say what the commits after number `sequence` had changed, e.g. ``: run +2``."""
    lost = [summary for number, summary in sidecar.recent if number > sequence]
    if not lost:
        return ""
    more = f"; and {len(lost) - 3} more" if len(lost) > 3 else ""
    return f" (lost: {'; '.join(lost[:3])}{more})"


def _same_bytes(path: Path, file: FileBytes | None) -> bool:
    if file is None:
        return False
    status = path.stat()
    if status.st_size != file.size:
        return False
    if status.st_mtime_ns == file.mtime_ns and status.st_size > ALWAYS_READ:
        return True
    return crc32(descriptor_of(path)) == file.crc32


def _renew_sidecar(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Let the next opening be quick again; where that is not permitted it is not."""
    with contextlib.suppress(OSError, HistoryError):
        write_sidecar(path, current_sidecar(connection, path).closed(descriptor_of(path)))


def current_sidecar(connection: duckdb.DuckDBPyConnection, path: Path) -> Sidecar:
    """Sidecar that fits the history as it is."""
    commit = last_commit(connection)
    former = read_sidecar(path)
    if commit is None:
        return Sidecar(sequence=0, chain="")
    recent = () if former is None else former.recent
    return Sidecar(
        sequence=commit.sequence,
        chain=commit.chain,
        recent=tuple(entry for entry in recent if entry[0] <= commit.sequence),
    )


def create_file(path: Path, *, now: datetime | None) -> None:
    """Write a history without any benchmark, and its sidecar.

    Raises
    ------
    HistoryError
        If there is a file already, or one left of a former history, or it cannot be written.
    """
    if path.exists():
        raise HistoryError(f"{path} exists already; choose another path or use that history")
    for other in (sidecar_path(path), path.with_name(path.name + ".wal")):
        if other.exists():
            raise HistoryError(
                f"{other} belongs to a history that is gone; restore that with "
                f"`recurring-eval restore BACKUP`, or move {other.name} away"
            )
    connection = connect(path, read_only=False, wait_seconds=0.0)
    register(path)
    try:
        with one_line_errors(path):
            apply_migrations(connection, shipped_migrations(), now=now)
            connection.execute("CHECKPOINT")
        write_sidecar(path, current_sidecar(connection, path).closed(descriptor_of(path)))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        connection.close()
        release(path)


def seal(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Checkpoint and note how the file is left, if this handle is the last that wrote.

    What was committed is safe without: should it fail, the next opening reads and
    verifies everything.
    """
    if not must_be_sealed(path):
        return
    with contextlib.suppress(duckdb.Error, OSError, HistoryError):
        connection.execute("CHECKPOINT")
        if not write_ahead_logs(path):
            write_sidecar(path, current_sidecar(connection, path).closed(descriptor_of(path)))
