"""Connecting to the file: waiting for its holder, errors in one line."""

import contextlib
import fcntl
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from storage.file.errors import RESTORE, HistoryDamagedError, HistoryError, HistoryLockedError

FIRST_WAIT_S: Final = 0.02
LONGEST_WAIT_S: Final = 0.1
"""Nobody who waits looks much more seldom than the others: that would starve him."""
LOCKED: Final = "Could not set lock on file"
HOLDER: Final = re.compile(r"PID (\d+)")

# Never fetch an extension over the network; every handle in a process needs the same settings.
SETTINGS: Final = {
    # What does not fit goes to a temporary file beside the history.
    "memory_limit": "400MB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
ADVICE: Final = (
    ("No space left", "free some space on the disk, then try again"),
    ("Permission denied", "give this user the right to read and write it and its folder"),
    ("Read-only file system", "choose a folder that can be written to"),
)
DAMAGED: Final = (
    "Corrupt database file",
    "Corrupt WAL file",
    "replaying WAL",
    "replaying checkpoint WAL",
    "not a valid DuckDB database",
    "Could not read enough bytes",
    "Failed to load metadata pointer",
    "Serialization Error",
    "INTERNAL Error",
)

_LOCKS: dict[str, threading.Lock] = {}
_LOCKS_GUARD: Final = threading.Lock()


def connect(
    path: Path, *, read_only: bool, wait_seconds: float, told_wait: float | None = None
) -> duckdb.DuckDBPyConnection:
    """Connect with the session in UTC, waiting up to `wait_seconds` for another process.

    `told_wait` is the time that the error speaks of, if some of it is over already.

    Raises
    ------
    HistoryLockedError
        If another process still holds the file.
    HistoryError
        If the file cannot be opened.
    """
    deadline = time.monotonic() + wait_seconds
    pause = FIRST_WAIT_S
    while True:
        try:
            connection = duckdb.connect(str(path), read_only=read_only, config=dict(SETTINGS))
        except duckdb.IOException as error:
            if LOCKED not in str(error):
                raise _one_line(error, path) from error
            left = deadline - time.monotonic()
            if left <= 0:
                waited = wait_seconds if told_wait is None else told_wait
                raise _locked(error, path, waited) from error
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_WAIT_S)
        except duckdb.ConnectionException as error:
            raise HistoryError(
                f"the history {path} is already open in this process in another mode; "
                "close that one first"
            ) from error
        except duckdb.Error as error:
            raise _one_line(error, path) from error
        else:
            connection.execute("SET TimeZone = 'UTC'")
            # It would be drawn on stdout, in the midst of results.
            connection.execute("SET enable_progress_bar = false")
            return connection


@contextlib.contextmanager
def one_writer(path: Path, *, wait_seconds: float) -> Iterator[None]:
    """Let one transaction of this process at a time write to the file.

    Ids are given out by looking at the largest one, which two open
    transactions would see alike.

    Raises
    ------
    HistoryLockedError
        If another one is still open after `wait_seconds`.
    """
    with _LOCKS_GUARD:
        lock = _LOCKS.setdefault(str(path.resolve()), threading.Lock())
    if not lock.acquire(timeout=wait_seconds):
        raise HistoryLockedError(
            f"another transaction of this process writes to {path} (waited {wait_seconds:g} s); "
            "try again when it has finished",
            pid=os.getpid(),
        )
    try:
        yield
    finally:
        lock.release()


def _locked(error: duckdb.IOException, path: Path, waited: float) -> HistoryLockedError:
    holder = HOLDER.search(str(error))
    pid = None if holder is None else int(holder[1])
    return HistoryLockedError(
        f"the history {path} is in use by {'another process' if pid is None else f'process {pid}'}"
        f" (waited {waited:g} s); try again when it has finished",
        pid=pid,
    )


@contextlib.contextmanager
def one_line_errors(path: Path) -> Iterator[None]:
    """Turn an error of DuckDB into a HistoryError of one line."""
    try:
        yield
    except duckdb.Error as error:
        raise _one_line(error, path) from error


def _one_line(error: duckdb.Error, path: Path) -> HistoryError:
    first_line = str(error).strip().partition("\n")[0]
    for told, advice in ADVICE:
        if told in first_line:
            return HistoryError(f"the history {path} cannot be used: {first_line}; {advice}")
    if any(told in first_line for told in DAMAGED):
        return HistoryDamagedError(f"the history {path} is damaged: {first_line}; {RESTORE}")
    return HistoryError(f"the history {path} cannot be used: {first_line}")


PAUSE_S: Final = 0.02


def gate_path(path: Path) -> Path:
    """File whose lock is the gate of the history at `path`; it is always empty."""
    return path.with_suffix(".gate")


@contextlib.contextmanager
def passing_gate(path: Path, *, wait_seconds: float) -> Iterator[float]:
    """Keep the gate shut behind us; yields the seconds left of those one may wait.

    Where the gate cannot be had, e.g. because the folder is read-only, or stays shut for
    too long, one goes on without it: it makes for fairness, not for safety.
    """
    deadline = time.monotonic() + wait_seconds
    descriptor = _open(gate_path(path))
    if descriptor is None:
        yield wait_seconds
        return
    try:
        while not _lock(descriptor) and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
        yield max(deadline - time.monotonic(), 0.0)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int | None:
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
        with contextlib.suppress(OSError):
            return os.open(path, flags, 0o666)
    return None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without such locks
    return True


_GUARD: Final = threading.Lock()
_HANDLES: Final[dict[str, int]] = {}
_WRITTEN: Final[set[str]] = set()
_DESCRIPTORS: Final[dict[str, list[int]]] = {}


def register(path: Path) -> bool:
    """Count one more handle; whether it is the only one of this process."""
    with _GUARD:
        key = str(path.resolve())
        _HANDLES[key] = _HANDLES.get(key, 0) + 1
        return _HANDLES[key] == 1


def release(path: Path) -> None:
    """Count one handle less."""
    with _GUARD:
        key = str(path.resolve())
        _HANDLES[key] -= 1
        if not _HANDLES[key]:
            del _HANDLES[key]
            _WRITTEN.discard(key)
            for descriptor in _DESCRIPTORS.pop(key, []):
                os.close(descriptor)


def descriptor_of(path: Path) -> int:
    """Open a history's file for reading, until its last handle is released."""
    with _GUARD:
        key = str(path.resolve())
        kept = _DESCRIPTORS.setdefault(key, [])
        status = path.stat()
        for descriptor in kept:
            if os.path.samestat(os.fstat(descriptor), status):
                return descriptor
        kept.append(os.open(path, os.O_RDONLY))
        return kept[-1]


def note_written(path: Path) -> None:
    """Remember that the file differs from how it was opened."""
    with _GUARD:
        _WRITTEN.add(str(path.resolve()))


def must_be_sealed(path: Path) -> bool:
    """Whether the caller's is the last handle and the file was written to."""
    with _GUARD:
        key = str(path.resolve())
        return _HANDLES.get(key) == 1 and key in _WRITTEN
