"""Rewrite the history without its free blocks."""

from jobs.app.app import App
from storage.file.upkeep import Compacted
from storage.file.upkeep import compact as compact_file


def compact(app: App) -> Compacted:
    """Compact the history; it stays as it was if anything fails.

    Raises
    ------
    HistoryError
        If it is in use, damaged, or there is no room for a copy.
    """
    return compact_file(app.settings.history)
