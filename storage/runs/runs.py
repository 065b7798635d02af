"""Stored runs: listing, finding by what users call them; writing is re-exported."""

import difflib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, PASS, Run, RunKind, RunPurpose
from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.runs.write_runs import NOT_RUN, RunWritten, write_runs
from storage.times import from_store, to_utc

__all__ = ["NOT_RUN", "RunWritten", "find_run", "list_runs", "write_runs"]

SUGGESTIONS: Final = 5
COLUMNS: Final = """
SELECT r.run_id, r.run_key, b.name, r.agent, r.agent_config, r.agent_family, r.purpose, r.kind,
       r.subset_id, r.session_id, r.started_at, r.finished_at, r.imported_at, r.harness, r.tags,
       r.n_verdicts, r.n_valid, r.n_missing, r.pass_rate, k.version, k.n_questions
FROM run AS r JOIN benchmark AS b USING (benchmark_id) JOIN bank AS k USING (bank_id)
"""
LATEST: Final = {
    "last": "true",
    "last-full": "r.kind = 'full'",
    "last-routine": "r.purpose = 'routine'",
}


def list_runs(
    history: History,
    benchmark: str,
    *,
    family: str | None = None,
    kinds: Collection[RunKind] | None = None,
    purposes: Collection[RunPurpose] | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
) -> list[Run]:
    """List the runs of a benchmark in order of start, then key.

    Parameters
    ----------
    history : History
    benchmark : str
    family : str, optional
        Only runs of this agent family.
    kinds, purposes : collection, optional
        Only runs of these; all by default.
    since, before : datetime, optional
        Aware; only runs with ``since <= started_at < before``.
    """
    conditions = ["r.benchmark_id = ?"]
    values: list[object] = [benchmark_row_id(history, benchmark)]
    for condition, value in (
        ("r.agent_family = ?", family),
        ("r.kind IN (SELECT unnest(?::VARCHAR[]))", _names(kinds)),
        ("r.purpose IN (SELECT unnest(?::VARCHAR[]))", _names(purposes)),
        ("r.started_at >= ?", to_utc(since, "`since`")),
        ("r.started_at < ?", to_utc(before, "`before`")),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    return _runs(history, " AND ".join(conditions), values)


def find_run(history: History, reference: str, *, benchmark: str | None = None) -> Run:
    """Run that a user means by a reference.

    Parameters
    ----------
    history : History
    reference : str
        A run's key, a unique beginning of one, ``last``, ``last-full`` or
        ``last-routine`` (by start), or else the history's integer of a run.
    benchmark : str, optional
        Look only among this benchmark's runs.

    Raises
    ------
    InputError
        If no run or several fit, naming those that come near.
    """
    scope, values = "true", list[object]()
    if benchmark is not None:
        scope, values = "r.benchmark_id = ?", [benchmark_row_id(history, benchmark)]
    if reference in LATEST:
        found = _runs(history, f"{scope} AND {LATEST[reference]}", values)
        if not found:
            raise InputError(f"the history has no run for {reference!r}; import one first")
        return found[-1]
    found = _runs(history, f"{scope} AND r.run_key = ?", [*values, reference])
    if not found and reference:
        found = _runs(history, f"{scope} AND starts_with(r.run_key, ?)", [*values, reference])
    if not found and reference.isdecimal():
        found = _runs(history, f"{scope} AND r.run_id = ?::HUGEINT", [*values, reference[:18]])
    if len(found) != 1:
        raise InputError(_not_one(history, reference, found, benchmark))
    return found[0]


def _runs(history: History, condition: str, values: Sequence[object]) -> list[Run]:
    rows = history.rows(
        f"{COLUMNS} WHERE {condition} ORDER BY r.started_at, r.run_key, r.run_id", values
    )
    return [_run(row) for row in rows]


def _run(row: tuple[Any, ...]) -> Run:
    (run_id, run_key, benchmark, agent, config, family, purpose, kind, subset, session) = row[:10]
    (started, finished, imported, harness, tags, verdicts, valid, missing, rate) = row[10:19]
    return Run(
        run_id=run_id,
        run_key=run_key,
        benchmark=benchmark,
        agent=agent,
        agent_config=config,
        agent_family=family,
        purpose=RunPurpose(purpose),
        kind=RunKind(kind),
        subset_id=subset,
        session_id=session,
        started_at=from_store(started),
        finished_at=from_store(finished),
        imported_at=from_store(imported),
        harness=harness,
        tags=tuple(tags),
        n_verdicts=verdicts,
        n_valid=valid,
        n_missing=missing,
        pass_rate=math.nan if rate is None else rate,
        bank_version=row[19],
        bank_size=row[20],
    )


def _names(values: Collection[RunKind] | Collection[RunPurpose] | None) -> list[str] | None:
    return None if values is None else [str(value) for value in values]


def _not_one(history: History, reference: str, found: Sequence[Run], benchmark: str | None) -> str:
    where = "the history" if benchmark is None else f"benchmark {benchmark!r}"
    if found:
        shown = ", ".join(f"{run.run_key} ({run.benchmark})" for run in found[:SUGGESTIONS])
        more = f" and {len(found) - SUGGESTIONS} more" if len(found) > SUGGESTIONS else ""
        return f"{reference!r} fits {len(found)} runs of {where}: {shown}{more}; give more of it"
    names = [benchmark] if benchmark is not None else None
    rows = history.rows(
        "SELECT run_key FROM run JOIN benchmark USING (benchmark_id)"
        " WHERE ?::VARCHAR[] IS NULL OR list_contains(?, name) ORDER BY started_at DESC, run_key",
        [names, names],
    )
    keys = [key for (key,) in rows]
    if not keys:
        return f"{where} has no run {reference!r}, and no runs yet; import some first"
    near = difflib.get_close_matches(reference, keys, n=SUGGESTIONS, cutoff=0.4)
    label = "near it" if near else "the latest"
    shown = ", ".join(near or keys[:SUGGESTIONS])
    return f"{where} has no run {reference!r}; {label}: {shown}"


WORDS = {PASS: "pass", FAIL: "fail", None: "missing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRevision:
    """One replaced verdict.

    Attributes
    ----------
    run_key : str
    question_id : str
    trial : int
    revision : int
        Number of the import that replaced it, from 1.
    replaced_at : datetime
    old, new : str
        ``pass``, ``fail`` or ``missing``; what it was and what stands there now.
    old_reason, new_reason : str or None
    """

    run_key: str
    question_id: str
    trial: int
    revision: int
    replaced_at: datetime
    old: str
    old_reason: str | None
    new: str
    new_reason: str | None


def list_revisions(history: History, run: Run) -> list[VerdictRevision]:
    """List the replaced verdicts of a run, by revision, question and trial."""
    rows = history.rows(
        "SELECT q.question_key, o.trial, o.revision, o.replaced_at, o.passed, o.reason,"
        " n.passed, n.reason FROM verdict_revision AS o JOIN question AS q USING (question_id)"
        f" LEFT JOIN {history.verdict_source([run.run_id])} AS n ON n.run_id = o.run_id"
        " AND n.question_id = o.question_id AND n.trial = o.trial"
        " WHERE o.run_id = ? ORDER BY o.revision, q.question_key, o.trial",
        [run.run_id],
    )
    return [
        VerdictRevision(
            run_key=run.run_key,
            question_id=key,
            trial=trial,
            revision=revision,
            replaced_at=from_store(replaced_at),
            old=WORDS[old],
            old_reason=old_reason,
            new=WORDS[new],
            new_reason=new_reason,
        )
        for key, trial, revision, replaced_at, old, old_reason, new, new_reason in rows
    ]
