"""Files of a history: their names, and writing them so that a crash leaves old or new."""

import contextlib
import os
import shutil
import zlib
from pathlib import Path
from typing import Final

from storage.file.errors import HistoryError

PARTIAL: Final = ".partial"
_BLOCK: Final = 1 << 20


def sidecar_path(path: Path) -> Path:
    """File beside a history that says which commits it must hold."""
    return path.with_suffix(".seq")


def archive_folder(path: Path) -> Path:
    """Folder beside a history with the verdicts of old runs."""
    return path.with_suffix(".archive")


def write_ahead_logs(path: Path) -> list[Path]:
    """Files of DuckDB beside a history that hold what is not in it yet."""
    return sorted(other for other in path.parent.glob(f"{path.name}.wal*") if other.stat().st_size)


def crc32(descriptor: int) -> int:
    """CRC-32 of all bytes of an open file."""
    value, offset = 0, 0
    while block := os.pread(descriptor, _BLOCK, offset):
        value = zlib.crc32(block, value)
        offset += len(block)
    return value


def sync_folder(folder: Path) -> None:
    """Make renames in a folder last through a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def publish(partial: Path, path: Path) -> None:
    """Rename a finished file into its place, atomically and durably."""
    partial.replace(path)
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Make a file's bytes last through a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_durably(source: Path, target: Path) -> None:
    """Copy a file so that `target` is whole or absent.

    Raises
    ------
    OSError
        If it cannot be read or written; nothing is left behind then.
    """
    partial = target.with_name(target.name + PARTIAL)
    try:
        shutil.copyfile(source, partial)
        sync_file(partial)
        publish(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
