"""Put a backup in the place of the history."""

from pathlib import Path

from jobs.app.app import App
from recurring_eval.errors import InputError
from storage.file.backups import list_backups
from storage.file.restore import Restored, restore_backup

SHOWN = 10


def restore(app: App, reference: str | None) -> Restored:
    """Restore a backup given by path, by name in the folder of backups, or as ``last``.

    The files that were there are set aside.

    Raises
    ------
    InputError
        If there is no such backup, listing those there are.
    HistoryError
        If the backup is not whole; nothing is changed then.
    """
    backup = _find(app, reference)
    app.console.progress(f"verifying {backup}")
    return restore_backup(backup, app.settings.history, now=app.clock.now())


def _find(app: App, reference: str | None) -> Path:
    folder = app.settings.backups
    backups = [backup.path for backup in list_backups(folder, app.settings.history)]
    if reference == "last" and backups:
        return backups[-1]
    if reference is not None:
        for candidate in (Path(reference), folder / reference, folder / f"{reference}.duckdb"):
            if candidate.is_file():
                return candidate
    what = "name a backup" if reference is None else f"there is no backup {reference!r}"
    if not backups:
        raise InputError(f"{what}; there is none in {folder}, give the path of one")
    names = ", ".join(path.name for path in backups[-SHOWN:])
    raise InputError(f"{what}; in {folder} there are {names} (`last` is the newest)")
