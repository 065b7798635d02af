"""Export the history, one file per table."""

from pathlib import Path

from jobs.app.app import App
from recurring_eval.errors import InputError
from storage.export import OPTIONS, ExportedTable, export_tables


def export(app: App, folder: Path, *, format: str) -> list[ExportedTable]:  # noqa: A002  # CLI's
    """Write every table to a folder.

    Raises
    ------
    InputError
        If there is no such format, or the folder is a file.
    HistoryError
        If a file cannot be written.
    """
    if format not in OPTIONS:
        raise InputError(f"no format is called {format!r}; choose from {', '.join(OPTIONS)}")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder")
    with app.open_history(read_only=True) as history:
        return export_tables(
            history,
            folder,
            format=format,
            progress=lambda table: app.console.progress(f"writing {table}"),
        )
