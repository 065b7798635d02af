"""Make a backup of the history and prune old ones; find the backup to restore."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.app.app import App
from recurring_eval.errors import InputError
from storage.file.backups import list_backups, prune_backups, write_backup

SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """A new backup, and the old ones that were removed."""

    backup: Path
    n_bytes: int
    removed: tuple[Path, ...]


def back_up(app: App, *, folder: Path | None = None, keep: int | None = None) -> BackedUp:
    """Copy the history in one consistent snapshot, verify the copy, and prune old ones.

    Others may read meanwhile.

    Parameters
    ----------
    app : App
    folder : Path, optional
        In place of the configured one.
    keep : int, optional
        Number of backups kept, in place of the configured one.

    Raises
    ------
    HistoryError
        If no backup could be made; the old ones are all kept then.
    """
    target = app.settings.backups if folder is None else folder
    with app.open_history(read_only=True) as history:
        backup = history.check(
            lambda connection: write_backup(connection, history.path, target, now=app.clock.now())
        )
    removed = prune_backups(
        target,
        app.settings.history,
        keep=app.settings.keep_backups if keep is None else keep,
        never=backup.path,
    )
    return BackedUp(backup=backup.path, n_bytes=backup.n_bytes, removed=tuple(removed))


def find_backup(app: App, reference: str | None) -> Path:
    """Find a backup by path, by name in the folder of backups, or as ``last``.

    Raises
    ------
    InputError
        If there is no such backup, listing those there are.
    """
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
