"""Who may use the file: one process writes or many read, and those who wait take turns.

DuckDB locks the file; `connect` waits until it is free. Readers share that lock, so where
one opens the file before the last has closed it, a writer would never find it free.
Measured with three readers that each keep the file open for 0.3 s and open it again at
once: a writer waited 20 s in vain without the gate, and 1.0 to 1.6 s with it. The gate is
the lock of an empty file, ``history.gate``. Everybody holds it while opening the history,
so that a writer who waits for the readers inside lets no other in. It makes for fairness,
not for safety.

DuckDB's is a POSIX lock, which a process loses as soon as it closes *any* descriptor of
the file. So the bytes of an open history are read through a descriptor that stays open
until this process has closed its last handle.
"""

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
"""A process that looked much less often than the others would hardly ever get its turn."""
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


def connect(
    path: Path, *, read_only: bool, wait_seconds: float, in_turn: bool = False
) -> duckdb.DuckDBPyConnection:
    """Connect with the session in UTC, waiting up to `wait_seconds` for another process.

    With `in_turn`, pass the gate.

    Raises
    ------
    HistoryLockedError
        If another process still holds the file.
    HistoryError
        If the file cannot be opened.
    """
    deadline = time.monotonic() + wait_seconds
    pause = FIRST_WAIT_S
    with _gate(path, deadline) if in_turn else contextlib.nullcontext():
        while True:
            try:
                connection = duckdb.connect(str(path), read_only=read_only, config=dict(SETTINGS))
            except duckdb.IOException as error:
                if LOCKED not in str(error):
                    raise _one_line(error, path) from error
                left = deadline - time.monotonic()
                if left <= 0:
                    raise _locked(error, path, wait_seconds) from error
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
def connected(
    path: Path, *, read_only: bool, wait_seconds: float
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect for work on the file itself, counted as a handle of this process.

    Raises
    ------
    HistoryLockedError, HistoryError
        As `connect`; errors of DuckDB inside become a HistoryError, too.
    """
    connection = connect(path, read_only=read_only, wait_seconds=wait_seconds)
    register(path)
    try:
        with one_line_errors(path):
            yield connection
    finally:
        connection.close()
        release(path)


@contextlib.contextmanager
def _gate(path: Path, deadline: float) -> Iterator[None]:
    """Hold the gate, or go on without it where it cannot be had, e.g. in a read-only folder."""
    descriptor = None
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
        if descriptor is None:
            with contextlib.suppress(OSError):
                descriptor = os.open(path.with_suffix(".gate"), flags, 0o666)
    if descriptor is None:
        yield
        return
    try:
        while not _gate_is_ours(descriptor) and time.monotonic() < deadline:
            time.sleep(FIRST_WAIT_S)
        yield
    finally:
        os.close(descriptor)


def _gate_is_ours(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without such locks
    return True


class _OpenFile:
    """A history that this process has open."""

    def __init__(self) -> None:
        self.handles = 0
        self.written = False
        self.descriptors: list[int] = []
        self.writer = threading.Lock()


_GUARD: Final = threading.Lock()
_OPEN: Final[dict[Path, _OpenFile]] = {}


def _open_file(path: Path) -> _OpenFile:
    return _OPEN.setdefault(path.resolve(), _OpenFile())


def register(path: Path) -> bool:
    """Count one more handle; whether it is the only one of this process."""
    with _GUARD:
        file = _open_file(path)
        file.handles += 1
        return file.handles == 1


def release(path: Path) -> None:
    """Count one handle less."""
    with _GUARD:
        file = _open_file(path)
        file.handles -= 1
        if not file.handles:
            del _OPEN[path.resolve()]
            for descriptor in file.descriptors:
                os.close(descriptor)


def descriptor_of(path: Path) -> int:
    """Open the file of a history for reading, until its last handle is released."""
    with _GUARD:
        kept = _open_file(path).descriptors
        status = path.stat()
        for descriptor in kept:
            if os.path.samestat(os.fstat(descriptor), status):
                return descriptor
        kept.append(os.open(path, os.O_RDONLY))
        return kept[-1]


def note_written(path: Path) -> None:
    """Note that the file differs from how it was opened."""
    with _GUARD:
        _open_file(path).written = True


def must_be_sealed(path: Path) -> bool:
    """Whether the caller's is the last handle and the file was written to."""
    with _GUARD:
        file = _open_file(path)
        return file.handles == 1 and file.written


@contextlib.contextmanager
def one_writer(path: Path, *, wait_seconds: float) -> Iterator[None]:
    """Keep other transactions of this process from writing to the file.

    New ids follow the largest one, which two open transactions would see alike.

    Raises
    ------
    HistoryLockedError
        If another one is still open after `wait_seconds`.
    """
    with _GUARD:
        lock = _open_file(path).writer
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


@contextlib.contextmanager
def one_line_errors(path: Path) -> Iterator[None]:
    """Turn an error of DuckDB into a HistoryError of one line."""
    try:
        yield
    except duckdb.Error as error:
        raise _one_line(error, path) from error


def _locked(error: duckdb.IOException, path: Path, waited: float) -> HistoryLockedError:
    holder = HOLDER.search(str(error))
    pid = None if holder is None else int(holder[1])
    return HistoryLockedError(
        f"the history {path} is in use by {'another process' if pid is None else f'process {pid}'}"
        f" (waited {waited:g} s); try again when it has finished",
        pid=pid,
    )


def _one_line(error: duckdb.Error, path: Path) -> HistoryError:
    first_line = str(error).strip().partition("\n")[0]
    for told, advice in ADVICE:
        if told in first_line:
            return HistoryError(f"the history {path} cannot be used: {first_line}; {advice}")
    if any(told in first_line for told in DAMAGED):
        return HistoryDamagedError(f"the history {path} is damaged: {first_line}; {RESTORE}")
    return HistoryError(f"the history {path} cannot be used: {first_line}")
