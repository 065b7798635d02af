"""Reading all that is stored: archives of old verdicts, and verifying every byte and run.

The verdicts of old runs are in Parquet files beside the history; readers of verdicts
select from `verdict_source`, which adds them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from recurring_eval.records import MISSING
from storage.file.commits import broken_links, has_chain, table_names, wrong_counts
from storage.file.files import archive_folder, quoted, sha256
from storage.runs.verdict_rows import verdict_checksum

NAMED: Final = 5
BATCH_ROWS: Final = 500_000
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
    """Name what to select verdicts from: the table, or it with the archives.

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
    """Name the archives that are gone or of another size."""
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
    """Name the archives that are gone or changed, reading every byte."""
    problems = missing_archives(connection, path)
    if problems:
        return problems
    return [
        f"the archive {archive.path} has changed: its SHA-256 is not the recorded one"
        for archive in list_archives(connection, path)
        if sha256(archive.path) != archive.sha256
    ]


def find_damage(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Read the whole history and name what is wrong with it, one line each.

    DuckDB checks the checksum of each block it reads; what it cannot know, e.g. that
    verdicts of a run are gone, follows from `commit_log` and from the runs' checksums.
    """
    try:
        if has_chain(connection):
            problems = [
                *wrong_counts(connection),
                *damaged_archives(connection, path),
                *broken_links(connection),
            ]
            if problems:
                return problems
        for name in table_names(connection):
            connection.execute(f'SELECT bit_xor(hash(t)) FROM "{name}" AS t').fetchall()
        return wrong_runs(connection, path)
    except duckdb.Error as error:
        return [str(error).strip().partition("\n")[0]]


def wrong_runs(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Name the runs whose verdicts are not those that were written."""
    source = verdict_source(connection, path) if has_chain(connection) else "verdict"
    return wrong_verdicts(connection, source, None)


def wrong_verdicts(
    connection: duckdb.DuckDBPyConnection, source: str, run_ids: Sequence[int] | None
) -> list[str]:
    """Name the runs (some or all) of which `source` has not exactly the verdicts written."""
    expected: dict[int, tuple[str, int, str]] = {
        run_id: (f"{run_key} ({benchmark})", n_verdicts, checksum)
        for run_id, run_key, benchmark, n_verdicts, checksum in connection.execute(
            "SELECT run_id, run_key, name, n_verdicts, checksum"
            " FROM run JOIN benchmark USING (benchmark_id)"
            " WHERE ?::INTEGER[] IS NULL OR run_id IN (SELECT unnest(?::INTEGER[]))"
            " ORDER BY run_id",
            [run_ids, run_ids],
        ).fetchall()
    }
    wrong = []
    left = set(expected)
    for run_id, n_verdicts, checksum in _checksums(connection, source):
        left.discard(run_id)
        if run_id not in expected:
            wrong.append(f"{n_verdicts:,} verdicts belong to run {run_id}, which does not exist")
            continue
        name, n_written, written = expected[run_id]
        if n_verdicts != n_written:
            wrong.append(f"run {name} has {n_verdicts:,} of its {n_written:,} verdicts")
        elif checksum != written:
            wrong.append(f"run {name} has verdicts that do not fit its checksum")
    wrong += [
        f"run {expected[run_id][0]} has lost its {expected[run_id][1]:,} verdicts"
        for run_id in sorted(left)
    ]
    if len(wrong) > NAMED:
        return [*wrong[:NAMED], f"and {len(wrong) - NAMED} more runs"]
    return wrong


def _checksums(
    connection: duckdb.DuckDBPyConnection, source: str
) -> Iterator[tuple[int, int, str]]:
    """Run, number of verdicts and their checksum, for every run with verdicts."""
    batches = connection.sql(
        f"SELECT run_id, question_id, trial, passed, reason FROM {source}"
        " ORDER BY run_id, question_id, trial"
    ).to_arrow_reader(BATCH_ROWS)
    carried = pa.table({})
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        if carried.num_rows:
            rows = pa.concat_tables([carried, rows])
        owner = rows["run_id"].to_numpy()
        # The last run may go on in the next batch.
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        yield from _of_runs(rows, [int(start) for start in starts])
        carried = rows.slice(int(starts[-1]))
    if carried.num_rows:
        yield from _of_runs(carried, [0, carried.num_rows])


def _of_runs(rows: pa.Table, bounds: list[int]) -> Iterator[tuple[int, int, str]]:
    owner = rows["run_id"].to_numpy()
    question, trial = rows["question_id"].to_numpy(), rows["trial"].to_numpy()
    outcome = rows["passed"].fill_null(MISSING).to_numpy()
    missing = np.flatnonzero(outcome == MISSING)
    reasons = rows["reason"].take(pa.array(missing)).to_pylist()
    edges = np.searchsorted(missing, bounds)
    for (start, end), (first, last) in zip(pairwise(bounds), pairwise(edges), strict=True):
        yield (
            int(owner[start]),
            end - start,
            verdict_checksum(
                question[start:end], trial[start:end], outcome[start:end], reasons[first:last]
            ),
        )
