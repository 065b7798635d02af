"""Make a backup, and keep no more than wanted."""

from dataclasses import dataclass
from pathlib import Path

from jobs.app.app import App
from storage.file.backups import prune_backups, write_backup


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """The new backup, and the old ones that went."""

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
