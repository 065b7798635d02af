"""Which histories this process has open, how often, and whether it wrote to them.

DuckDB holds a POSIX lock on the file, and a process loses such a lock as soon as it
closes *any* descriptor of the file. So the bytes of an open history are read through a
descriptor that is kept until the last handle is closed.
"""

import os
import threading
from pathlib import Path
from typing import Final

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
