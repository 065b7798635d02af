"""Verifying all that is stored: every table, archive and run against its checksum."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from recurring_eval.records import MISSING
from storage.file.archives import damaged_archives, verdict_source
from storage.file.commits import broken_links, has_chain, table_names, wrong_counts
from storage.runs.verdict_rows import verdict_checksum

NAMED: Final = 5
BATCH_ROWS: Final = 500_000


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
    """List the runs whose verdicts are not those that were written."""
    source = verdict_source(connection, path) if has_chain(connection) else "verdict"
    return wrong_verdicts(connection, source, None)


def wrong_verdicts(
    connection: duckdb.DuckDBPyConnection, source: str, run_ids: Sequence[int] | None
) -> list[str]:
    """List the runs (some or all) of which `source` has not exactly the verdicts written."""
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
