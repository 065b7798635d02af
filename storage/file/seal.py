"""Leaving a history: nothing in the write-ahead log, and its bytes in the sidecar."""

import contextlib
from pathlib import Path

import duckdb

from storage.file.errors import HistoryError
from storage.file.files import write_ahead_logs
from storage.file.open_files import descriptor_of, must_be_sealed
from storage.file.opening import current_sidecar
from storage.file.sidecar import write_sidecar


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
