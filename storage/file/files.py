"""Files of a history: their names, and writing them so that a crash leaves old or new."""

import contextlib
import hashlib
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from storage.file.errors import HistoryError

PARTIAL: Final = ".partial"
STAMP: Final = "%Y%m%dT%H%M%SZ"
"""Time, in UTC, in the name of a backup or of a file that was set aside."""
_BLOCK: Final = 1 << 20


def sidecar_path(path: Path) -> Path:
    """File beside a history with the commits it must hold."""
    return path.with_suffix(".seq")


def archive_folder(path: Path) -> Path:
    """Folder beside a history with the verdicts of old runs."""
    return path.with_suffix(".archive")


def write_ahead_logs(path: Path) -> list[Path]:
    """Files of DuckDB beside a history that hold what is not in it yet."""
    return sorted(other for other in path.parent.glob(f"{path.name}.wal*") if other.stat().st_size)


def quoted(path: Path) -> str:
    """Path as a text literal of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def crc32(descriptor: int) -> int:
    """CRC-32 of all bytes of an open file."""
    value, offset = 0, 0
    while block := os.pread(descriptor, _BLOCK, offset):
        value = zlib.crc32(block, value)
        offset += len(block)
    return value


def sha256(path: Path) -> str:
    """SHA-256 of a file, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Make the bytes of a file, or the names in a folder, outlast a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(partial: Path, path: Path) -> None:
    """Rename a finished file into its place, atomically and durably."""
    partial.replace(path)
    sync(path.parent)


@contextlib.contextmanager
def partial_of(path: Path) -> Iterator[Path]:
    """Name beside `path` to write to until it is published; deleted if it never is."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        yield partial
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def write_durably(path: Path, content: bytes) -> Path:
    """Write the content beside `path`, safe on the disk, and return that file.

    `publish` puts it in place; until then `path` is as it was.

    Raises
    ------
    HistoryError
        If it cannot be written, e.g. because the disk is full.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise HistoryError(f"{path} cannot be written: {error.strerror}") from error
    return partial


def copy_durably(source: Path, target: Path) -> None:
    """Copy a file so that `target` is whole or absent.

    Raises
    ------
    OSError
        If it cannot be read or written; nothing is left behind then.
    """
    with partial_of(target) as partial:
        shutil.copyfile(source, partial)
        sync(partial)
        publish(partial, target)


def copy_archives(archives: Iterable[Path], path: Path) -> None:
    """Copy archives into the folder of those of the history at `path`."""
    for archive in archives:
        archive_folder(path).mkdir(exist_ok=True)
        copy_durably(archive, archive_folder(path) / archive.name)
