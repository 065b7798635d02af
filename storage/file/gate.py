"""Taking turns: who waits to write is not passed by ever new readers.

Readers share the lock on the history; where one opens it before the other has closed,
a writer would never find it free. So everybody passes a gate to open it, and a writer
who waits for the readers inside keeps the gate shut meanwhile.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
