"""Connecting to the file: waiting for its holder, errors in one line."""

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from storage.errors import HistoryError, HistoryLockedError

FIRST_WAIT_S: Final = 0.05
LONGEST_WAIT_S: Final = 1.0
LOCKED: Final = "Could not set lock on file"
HOLDER: Final = re.compile(r"PID (\d+)")

# Never fetch an extension over the network; every handle in a process needs the same settings.
SETTINGS: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


_LOCKS: dict[str, threading.Lock] = {}
_LOCKS_GUARD: Final = threading.Lock()


def connect(path: Path, *, read_only: bool, wait_seconds: float) -> duckdb.DuckDBPyConnection:
    """Connect with the session in UTC, waiting up to `wait_seconds` for another process.

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
    return HistoryError(f"the history {path} cannot be used: {first_line}")
