"""Stored runs: listing them, finding them by what users call them, and what was replaced."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recurring_eval.errors import InputError
from recurring_eval.records import Run, RunKind, RunPurpose
from storage.file.history import History
from storage.references import not_one, refuse_unknown
from storage.runs.benchmarks import benchmark_row_id
from storage.runs.verdict_rows import verdict_word
from storage.values import to_utc

COLUMNS: Final = """
SELECT r.run_id, r.run_key, b.name AS benchmark, r.agent, r.agent_config, r.agent_family,
       r.purpose, r.kind, r.subset_id, r.session_id, r.started_at, r.finished_at, r.imported_at,
       r.harness, r.tags, r.n_verdicts, r.n_valid, r.n_missing,
       coalesce(r.pass_rate, 'nan'::DOUBLE) AS pass_rate, k.version AS bank_version,
       k.n_questions AS bank_size
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
        rows = history.rows(
            "SELECT r.run_key FROM run AS r JOIN benchmark AS b USING (benchmark_id)"
            f" WHERE {scope} ORDER BY r.started_at DESC, r.run_key",
            values,
        )
        raise not_one(
            "run",
            reference,
            found=[f"{run.run_key} ({run.benchmark})" for run in found],
            known=[key for (key,) in rows],
            advice="import some first",
            where="the history" if benchmark is None else f"benchmark {benchmark!r}",
        )
    return found[0]


def run_row_ids(history: History, benchmark_id: int, run_keys: Iterable[str]) -> dict[str, int]:
    """Integer of each run of the benchmark, by key.

    Raises
    ------
    InputError
        If the history lacks one of the runs.
    """
    wanted = list(dict.fromkeys(run_keys))
    rows = history.rows(
        "SELECT run_key, run_id FROM run"
        " WHERE benchmark_id = ? AND run_key IN (SELECT unnest(?::VARCHAR[]))",
        [benchmark_id, wanted],
    )
    found = dict(rows)
    refuse_unknown(wanted, found, "runs")
    return found


def _runs(history: History, condition: str, values: Sequence[object]) -> list[Run]:
    order = "ORDER BY r.started_at, r.run_key, r.run_id"
    return history.records(Run, f"{COLUMNS} WHERE {condition} {order}", values)


def _names(values: Collection[RunKind] | Collection[RunPurpose] | None) -> list[str] | None:
    return None if values is None else [str(value) for value in values]


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
    return history.records(
        VerdictRevision,
        "SELECT ? AS run_key, q.question_key AS question_id, o.trial, o.revision, o.replaced_at,"
        f" {verdict_word('o')} AS old, o.reason AS old_reason,"
        f" {verdict_word('n')} AS new, n.reason AS new_reason"
        " FROM verdict_revision AS o JOIN question AS q USING (question_id)"
        f" LEFT JOIN {history.verdict_source([run.run_id])} AS n ON n.run_id = o.run_id"
        " AND n.question_id = o.question_id AND n.trial = o.trial"
        " WHERE o.run_id = ? ORDER BY o.revision, q.question_key, o.trial",
        [run.run_key, run.run_id],
    )
