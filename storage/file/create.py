"""Making an empty history."""

from datetime import datetime
from pathlib import Path

from storage.file.connect import connect, one_line_errors
from storage.file.errors import HistoryError
from storage.file.files import sidecar_path
from storage.file.migrate import apply_migrations, shipped_migrations
from storage.file.open_files import descriptor_of, register, release
from storage.file.opening import current_sidecar
from storage.file.sidecar import write_sidecar


def create_file(path: Path, *, now: datetime | None) -> None:
    """Write a history without any benchmark, and its sidecar.

    Raises
    ------
    HistoryError
        If there is a file already, or one left of a former history, or it cannot be written.
    """
    if path.exists():
        raise HistoryError(f"{path} exists already; choose another path or use that history")
    for other in (sidecar_path(path), path.with_name(path.name + ".wal")):
        if other.exists():
            raise HistoryError(
                f"{other} belongs to a history that is gone; restore that with "
                f"`recurring-eval restore BACKUP`, or move {other.name} away"
            )
    connection = connect(path, read_only=False, wait_seconds=0.0)
    register(path)
    try:
        with one_line_errors(path):
            apply_migrations(connection, shipped_migrations(), now=now)
            connection.execute("CHECKPOINT")
        write_sidecar(path, current_sidecar(connection, path).closed(descriptor_of(path)))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        connection.close()
        release(path)
