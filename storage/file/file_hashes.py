"""Which files the runs of the history came from."""

from storage.file.history import History


def imported_file_hashes(history: History) -> frozenset[str]:
    """SHA-256, as hex, of every file that gave or changed a run."""
    rows = history.rows("SELECT DISTINCT file_hash FROM run WHERE file_hash IS NOT NULL")
    return frozenset(file_hash for (file_hash,) in rows)
