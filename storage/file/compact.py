"""Compacting a history: a tight copy takes its place, the old file stays until it does."""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from storage.file.commit_chain import last_commit, row_counts
from storage.file.connect import connect
from storage.file.copy import copy_database
from storage.file.errors import HistoryDamagedError, HistoryError
from storage.file.files import PARTIAL, publish
from storage.file.history import History
from storage.file.open_files import descriptor_of, register, release
from storage.file.opening import current_sidecar
from storage.file.sidecar import write_sidecar
from storage.file.verify import find_damage

GRACE_S: Final = 0.1
"""Who opened the old file just before the swap has met our lock by then, and tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """Size in bytes before and after."""

    before: int
    after: int


def compact(path: Path, *, wait_seconds: float = 10.0) -> Compacted:
    """Rewrite a history without its free blocks.

    Others may read meanwhile, and wait to write.

    Raises
    ------
    HistoryError
        If the copy cannot be written or is not whole; the history stays as it was.
    """
    before = path.stat().st_size
    History.open(path, wait_seconds=wait_seconds).close()  # leaves no write-ahead log
    partial = path.with_name(path.name + PARTIAL)
    with contextlib.suppress(FileNotFoundError):
        partial.unlink()
    # Open for reading only, the old file keeps writers out until it is replaced.
    with History.open(path, read_only=True, wait_seconds=wait_seconds) as history:
        try:
            history.check(lambda connection: _write_copy(connection, path, partial))
            after = partial.stat().st_size
            publish(partial, path)
        except OSError as error:
            raise HistoryError(f"{path} was not compacted: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
        time.sleep(GRACE_S)
    return Compacted(before=before, after=after)


def _write_copy(connection: duckdb.DuckDBPyConnection, path: Path, partial: Path) -> None:
    expected = (last_commit(connection), row_counts(connection))
    copy_database(connection, partial)
    copied = connect(partial, read_only=True, wait_seconds=0.0)
    register(partial)
    try:
        damage = find_damage(copied, path)
        if not damage and (last_commit(copied), row_counts(copied)) != expected:
            damage = ["the copy differs from the history"]
        if damage:
            raise HistoryDamagedError(f"{path} was not compacted: {damage[0]}")
        # Before the swap: afterwards another process may be ahead of us.
        write_sidecar(path, current_sidecar(copied, path).closed(descriptor_of(partial)))
    finally:
        copied.close()
        release(partial)
