"""Archives: Parquet files beside the history that hold the verdicts of old runs.

Readers of verdicts select from `verdict_source`, which adds those of the archives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from storage.file.files import archive_folder, quoted, sha256

COLUMNS: Final = "run_id, question_id, trial, passed, reason, duration_s, cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """One file of moved verdicts.

    Attributes
    ----------
    archive_id : int
    path : Path
    sha256 : str
    n_runs, n_verdicts, n_bytes : int
        When it was written; a run imported again later is read from the history.
    """

    archive_id: int
    path: Path
    sha256: str
    n_runs: int
    n_verdicts: int
    n_bytes: int


def list_archives(connection: duckdb.DuckDBPyConnection, path: Path) -> list[Archive]:
    """List the archives of the history at `path`, the oldest first."""
    rows = connection.execute(
        "SELECT archive_id, file_name, sha256, n_runs, n_verdicts, n_bytes FROM archive"
        " ORDER BY archive_id"
    ).fetchall()
    return [
        Archive(
            archive_id=archive_id,
            path=archive_folder(path) / name,
            sha256=digest,
            n_runs=n_runs,
            n_verdicts=n_verdicts,
            n_bytes=n_bytes,
        )
        for archive_id, name, digest, n_runs, n_verdicts, n_bytes in rows
    ]


def verdict_source(
    connection: duckdb.DuckDBPyConnection, path: Path, run_ids: Sequence[int] | None = None
) -> str:
    """Source to select verdicts from: the table, or it with the archives.

    Only archives with one of `run_ids` are named, if these are given.
    """
    archives = list_archives(connection, path)
    if archives and run_ids is not None:
        needed = connection.execute(
            "SELECT DISTINCT archive_id FROM archived_run"
            " WHERE run_id IN (SELECT unnest(?::INTEGER[]))",
            [list(run_ids)],
        ).fetchall()
        archives = [archive for archive in archives if (archive.archive_id,) in needed]
    if not archives:
        return "verdict"
    files = ", ".join(quoted(archive.path) for archive in archives)
    moved = ", ".join(f"p.{name}" for name in COLUMNS.split(", "))
    return (
        f"(SELECT {COLUMNS} FROM verdict UNION ALL SELECT {moved}"
        f" FROM read_parquet([{files}]) AS p JOIN archived_run AS a"
        " ON a.run_id = p.run_id AND a.archive_id = p.archive_id)"
    )


def missing_archives(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """List the archives that are gone or of another size."""
    problems = []
    for archive in list_archives(connection, path):
        if not archive.path.is_file():
            problems.append(f"the archive {archive.path} with {archive.n_runs:,} runs is gone")
        elif archive.path.stat().st_size != archive.n_bytes:
            problems.append(
                f"the archive {archive.path} has {archive.path.stat().st_size:,} bytes, "
                f"not {archive.n_bytes:,}"
            )
    return problems


def damaged_archives(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """List the archives that are gone or changed, reading every byte."""
    problems = missing_archives(connection, path)
    if problems:
        return problems
    return [
        f"the archive {archive.path} has changed: its SHA-256 is not the recorded one"
        for archive in list_archives(connection, path)
        if sha256(archive.path) != archive.sha256
    ]
