"""Bring the tables of the history up to date."""

from jobs.app.app import App
from storage.file.upkeep import Upgraded, upgrade


def migrate_history(app: App) -> Upgraded:
    """Back up the history and apply the migrations it lacks.

    Raises
    ------
    SchemaError
        If its schema is newer or was edited, naming both versions.
    HistoryError
        If the backup cannot be made; nothing is changed then.
    """
    return upgrade(app.settings.history, backup_folder=app.settings.backups, now=app.clock.now())
