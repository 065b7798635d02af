"""Large files that were imported, to know them again without reading them."""

from dataclasses import dataclass
from datetime import datetime

from storage.history import History
from storage.times import to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """A file all of whose runs are stored just as it has them.

    Attributes
    ----------
    fingerprint : str
        Of its bytes and of how they were read.
    file_hash : str
        Of its bytes.
    n_runs, n_verdicts : int
    """

    fingerprint: str
    file_hash: str
    n_runs: int
    n_verdicts: int


def remember_file(history: History, file: ImportedFile, *, now: datetime) -> None:
    """Note an imported file, inside the caller's transaction."""
    history.execute("DELETE FROM imported_file WHERE fingerprint = ?", [file.fingerprint])
    history.insert_row(
        "imported_file",
        fingerprint=file.fingerprint,
        file_hash=file.file_hash,
        n_runs=file.n_runs,
        n_verdicts=file.n_verdicts,
        imported_at=to_utc(now, "`now`"),
    )


def remembered_files(history: History) -> dict[str, ImportedFile]:
    """List imported files by fingerprint, without those of which a run was changed since."""
    rows = history.rows(
        "SELECT fingerprint, file_hash, f.n_runs, f.n_verdicts FROM imported_file AS f JOIN"
        " (SELECT file_hash, count(*) AS n_runs, sum(n_verdicts) AS n_verdicts"
        " FROM run GROUP BY file_hash) AS r USING (file_hash)"
        " WHERE f.n_runs = r.n_runs AND f.n_verdicts = r.n_verdicts"
    )
    return {
        fingerprint: ImportedFile(
            fingerprint=fingerprint, file_hash=file_hash, n_runs=n_runs, n_verdicts=n_verdicts
        )
        for fingerprint, file_hash, n_runs, n_verdicts in rows
    }
