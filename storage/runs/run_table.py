"""Rows of runs and verdicts: reading what is stored, writing what changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from recurring_eval.records import RunLog
from storage.file.history import History
from storage.runs.verdict_rows import VerdictRows, from_arrow, to_arrow
from storage.values import columns, to_utc

FACTS: Final = (
    "agent",
    "agent_config",
    "agent_family",
    "purpose",
    "started_at",
    "subset_id",
    "session_id",
)
"""What must not change when a run is imported again."""

Fact = str | datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """What an import needs to know of a run that is stored already."""

    run_id: int
    checksum: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """One run of an import and what it does to the history.

    Attributes
    ----------
    log : RunLog
    run_id : int
    new : bool
        Whether the history lacked the run.
    rows : VerdictRows
        The run's verdicts afterwards.
    checksum : str
        Of `rows`.
    added, replaced : VerdictRows
        Verdicts that come in, and stored ones that become a revision.
    n_changed : int
        How many of those that come in contradict a stored verdict.
    new_facts : bool
        Whether the log changes the facts of the run.
    """

    log: RunLog
    run_id: int
    new: bool
    rows: VerdictRows
    checksum: str
    added: VerdictRows
    replaced: VerdictRows
    n_changed: int = 0
    new_facts: bool = False

    @property
    def is_change(self) -> bool:
        """Whether there is anything to write."""
        return len(self.added) > 0 or self.new_facts


def facts_of(log: RunLog) -> tuple[Fact, ...]:
    """Facts of a log, in the order of `FACTS`."""
    started_at = to_utc(log.started_at, f"the start of run {log.run_key}")
    known = {"purpose": log.purpose.value, "started_at": started_at}
    return tuple(known[name] if name in known else getattr(log, name) for name in FACTS)


def stored_runs(
    history: History, benchmark_id: int, run_keys: Sequence[str]
) -> dict[str, StoredRun]:
    """Those of the runs that are stored already, by key."""
    rows = history.rows(
        f"SELECT run_key, run_id, checksum, {', '.join(FACTS)} FROM run"
        " WHERE benchmark_id = ? AND run_key IN (SELECT unnest(?::VARCHAR[]))",
        [benchmark_id, list(run_keys)],
    )
    return {
        key: StoredRun(run_id=run_id, checksum=checksum, facts=tuple(facts))
        for key, run_id, checksum, *facts in rows
    }


def read_verdicts(history: History, run_ids: Sequence[int]) -> dict[int, VerdictRows]:
    """Read the verdicts of the runs, by run, sorted by question and trial."""
    if not run_ids:
        return {}
    table = history.batches(
        f"SELECT * FROM {history.verdict_source(run_ids)} WHERE run_id BETWEEN ? AND ?"
        " AND run_id IN (SELECT unnest(?::INTEGER[])) ORDER BY run_id, question_id, trial",
        [min(run_ids), max(run_ids), list(run_ids)],
    ).read_all()
    rows = from_arrow(table)
    owner = table["run_id"].to_numpy()
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return {
        int(owner[start]): rows.take(np.arange(start, end))
        for start, end in pairwise([*starts.tolist(), len(owner)])
    }


def store_changes(
    history: History,
    changes: Sequence[RunChange],
    *,
    benchmark_id: int,
    bank_id: int,
    imported_at: datetime,
    file_hash: str | None,
) -> None:
    """Write the changed runs: verdicts, revisions, facts and summaries."""
    if not changes:
        return
    _store_verdicts(history, changes, imported_at)
    runs = _run_rows(changes, benchmark_id, bank_id, imported_at, file_hash)
    new = np.array([change.new for change in changes])
    if new.any():
        history.insert("run", runs.filter(pa.array(new)))
    if not new.all():
        # The first import of a run keeps its date.
        names = [name for name in runs.column_names if name not in ("run_id", "imported_at")]
        updates = ", ".join(f"{name} = incoming.{name}" for name in names)
        history.execute_with(
            runs.filter(pa.array(~new)),
            f"UPDATE run SET {updates} FROM incoming WHERE run.run_id = incoming.run_id",
        )


def _store_verdicts(history: History, changes: Sequence[RunChange], replaced_at: datetime) -> None:
    rewritten = [change for change in changes if len(change.replaced)]
    if rewritten:
        ids = [change.run_id for change in rewritten]
        history.execute_with(
            to_arrow(ids, [change.replaced for change in rewritten]),
            "INSERT INTO verdict_revision BY NAME SELECT incoming.*,"
            " coalesce(latest.revision, 0) + 1 AS revision, ? AS replaced_at"
            " FROM incoming LEFT JOIN (SELECT run_id, max(revision) AS revision"
            " FROM verdict_revision GROUP BY run_id) AS latest USING (run_id)",
            [replaced_at],
        )
        history.execute(
            "DELETE FROM verdict WHERE run_id BETWEEN ? AND ?"
            " AND run_id IN (SELECT unnest(?::INTEGER[]))",
            [min(ids), max(ids), ids],
        )
    written = [change for change in changes if len(change.added)]
    if written:
        moved = _bring_back(history, [change.run_id for change in written if not change.new])
        parts = [
            change.rows if len(change.replaced) or change.run_id in moved else change.added
            for change in written
        ]
        history.insert("verdict", to_arrow([change.run_id for change in written], parts))


def _bring_back(history: History, run_ids: Sequence[int]) -> set[int]:
    """Those of the runs whose verdicts an archive held; from now on the history does."""
    condition = "WHERE run_id IN (SELECT unnest(?::INTEGER[]))"
    rows = history.rows(f"SELECT run_id FROM archived_run {condition}", [list(run_ids)])
    if rows:
        history.execute(f"DELETE FROM archived_run {condition}", [list(run_ids)])
    return {run_id for (run_id,) in rows}


def _run_rows(
    changes: Sequence[RunChange],
    benchmark_id: int,
    bank_id: int,
    imported_at: datetime,
    file_hash: str | None,
) -> pa.Table:
    logs = [change.log for change in changes]
    valid, missing, rates = zip(*(change.rows.summary() for change in changes), strict=True)
    facts = zip(*(facts_of(log) for log in logs), strict=True)
    return columns(
        {
            "run_id": [change.run_id for change in changes],
            "benchmark_id": benchmark_id,
            "run_key": [log.run_key for log in logs],
            **dict(zip(FACTS, facts, strict=True)),
            "kind": [log.kind.value for log in logs],
            "bank_id": bank_id,
            "finished_at": [
                to_utc(log.finished_at, f"the end of run {log.run_key}") for log in logs
            ],
            "imported_at": imported_at,
            "harness": [log.harness for log in logs],
            "tags": pa.array([list(log.tags) for log in logs], pa.list_(pa.string())),
            "file_hash": file_hash,
            "n_verdicts": [len(change.rows) for change in changes],
            "n_valid": valid,
            "n_missing": missing,
            "pass_rate": pa.array(rates, pa.float64(), from_pandas=True),
            "checksum": [change.checksum for change in changes],
        }
    )
