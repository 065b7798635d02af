"""Bring the tables of the history up to date."""

from jobs.app.app import App
from storage.file.upkeep import Migrated, migrate


def migrate_history(app: App) -> Migrated:
    """Back up the history and apply the migrations it lacks.

    Raises
    ------
    SchemaError
        If its schema is newer or was edited, naming both versions.
    HistoryError
        If the backup cannot be made; nothing is changed then.
    """
    return migrate(app.settings.history, backup_folder=app.settings.backups, now=app.clock.now())
