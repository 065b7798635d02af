"""Copying a database into a new file: in one snapshot, whole or not at all."""

import contextlib
from pathlib import Path

import duckdb

from storage.file.archives import quoted
from storage.file.connect import one_line_errors
from storage.file.errors import HistoryError
from storage.file.files import sync_file


def copy_database(connection: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Copy every table of the connected database into the new file `target`.

    Others may go on writing; the copy holds what was committed when it began.

    Raises
    ------
    HistoryError
        If it cannot be written, e.g. because the disk is full; nothing is left of it then.
    """
    ((source,),) = connection.execute("SELECT current_database()").fetchall()
    logs = target.with_name(target.name + ".wal")
    try:
        with one_line_errors(target):
            connection.execute(f"ATTACH {quoted(target)} AS copied (READ_WRITE)")
            try:
                connection.execute(f'COPY FROM DATABASE "{source}" TO copied')
                connection.execute("CHECKPOINT copied")
            finally:
                with contextlib.suppress(duckdb.Error):
                    connection.execute("DETACH copied")
        if logs.exists():
            raise HistoryError(f"{target} could not be finished; see that the disk is not full")
        sync_file(target)
    except BaseException:
        for leftover in (target, logs):
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)
        raise
