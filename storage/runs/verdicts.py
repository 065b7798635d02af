"""Verdicts of stored runs as a response matrix, a log, or counts of what is missing."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.records import Run, RunLog
from recurring_eval.response_matrix import ResponseMatrix
from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id, stored_bank, stored_questions
from storage.runs.run_table import read_verdicts


def load_matrix(
    history: History,
    runs: Sequence[Run],
    question_ids: Sequence[str],
    *,
    bank_version: str | None = None,
    missing_as_fail: Collection[str] = (),
) -> ResponseMatrix:
    """Load passes and trials of runs of one benchmark.

    Parameters
    ----------
    history : History
    runs : sequence of Run
        Rows, in this order.
    question_ids : sequence of str
        Columns, in this order; a question that nobody answered is all missing.
    bank_version : str, optional
        Version whose question is meant where the content of one changed; the
        benchmark's current version by default.
    missing_as_fail : collection of str
        Reasons for which a missing verdict counts as a failed trial; what a
        stored reason says after a colon is its detail.

    Raises
    ------
    InputError
        If the runs are of several benchmarks or a run or question is twice.
    """
    if len({run.benchmark for run in runs}) > 1:
        raise InputError("a response matrix holds runs of one benchmark")
    shape = (len(runs), len(question_ids))
    passes = np.zeros(shape[0] * shape[1], dtype=np.int16)
    trials = np.zeros_like(passes)
    if runs and question_ids:
        columns = _columns(history, runs[0].benchmark, question_ids, bank_version)
        _count(history, runs, columns, missing_as_fail, passes, trials)
    return ResponseMatrix(
        passes=passes.reshape(shape),
        trials=trials.reshape(shape),
        run_ids=tuple(run.run_key for run in runs),
        question_ids=tuple(question_ids),
        started_at=tuple(run.started_at for run in runs),
        agents=tuple(run.agent for run in runs),
    )


def load_reasons(history: History, runs: Sequence[Run]) -> dict[int, dict[str, int]]:
    """Count of missing verdicts by ``Run.run_id`` and reason; every run has an entry."""
    counts: dict[int, dict[str, int]] = {run.run_id: {} for run in runs}
    rows = history.rows(
        f"SELECT run_id, reason, count(*) FROM {history.verdict_source(list(counts))}"
        " WHERE passed IS NULL AND run_id IN (SELECT unnest(?::INTEGER[]))"
        " GROUP BY run_id, reason ORDER BY run_id, reason",
        [list(counts)],
    )
    for run_id, reason, count in rows:
        counts[run_id][reason] = count
    return counts


def load_log(history: History, run: Run) -> RunLog:
    """Load a run as a log with every verdict, questions in sorted order."""
    rows = read_verdicts(history, [run.run_id])[run.run_id]
    names = history.rows(
        "SELECT question_key, content_hash, question_id FROM question"
        " WHERE question_id IN (SELECT unnest(?::INTEGER[])) ORDER BY question_key, question_id",
        [np.unique(rows.question_id).tolist()],
    )
    keys, hashes, ids = zip(*names, strict=True)
    position = {question_id: index for index, question_id in enumerate(ids)}
    reasons = sorted({reason for reason in rows.reason.tolist() if reason})
    code = {reason: index for index, reason in enumerate(reasons)}
    index = np.array([position[question] for question in rows.question_id.tolist()], np.int32)
    order = np.lexsort((rows.trial, index))
    return RunLog(
        run_key=run.run_key,
        benchmark=run.benchmark,
        agent=run.agent,
        agent_config=run.agent_config,
        agent_family=run.agent_family,
        purpose=run.purpose,
        started_at=run.started_at,
        finished_at=run.finished_at,
        harness=run.harness,
        tags=run.tags,
        subset_id=run.subset_id,
        session_id=run.session_id,
        question_ids=keys,
        content_hashes=hashes,
        question_index=index[order],
        trial=rows.trial[order],
        outcome=rows.outcome[order],
        reasons=tuple(reasons),
        reason_index=np.array([code.get(r, -1) for r in rows.reason[order].tolist()], np.int16),
        duration_s=rows.duration_s[order],
        cost=rows.cost[order],
    )


def _columns(
    history: History, benchmark: str, question_ids: Sequence[str], bank_version: str | None
) -> NDArray[np.intp]:
    """Column of each of the history's questions, -1 for those left out."""
    rows = stored_questions(history, benchmark_row_id(history, benchmark))
    meant = {key: question_id for key, _, question_id in rows}
    bank = stored_bank(history, benchmark, version=bank_version)
    if bank is None:
        raise InputError(f"benchmark {benchmark!r} has no bank version {bank_version}")
    meant.update(zip(bank.bank.question_ids, bank.question_row_ids.tolist(), strict=True))
    columns = np.full(max((question_id for _, _, question_id in rows), default=0) + 1, -1, np.intp)
    for column, key in enumerate(question_ids):
        if key in meant:
            columns[meant[key]] = column
    return columns


def _count(
    history: History,
    runs: Sequence[Run],
    columns: NDArray[np.intp],
    missing_as_fail: Collection[str],
    passes: NDArray[np.int16],
    trials: NDArray[np.int16],
) -> None:
    """Add every verdict to the flat counts, batch by batch."""
    n_questions = len(trials) // len(runs)
    ids = [run.run_id for run in runs]
    row_of = np.full(max(ids) + 1, -1, dtype=np.intp)
    row_of[ids] = np.arange(len(ids))
    # The range lets DuckDB skip whole blocks of older runs.
    batches = history.batches(
        "SELECT run_id, question_id, coalesce(passed, 0) AS passed"
        f" FROM {history.verdict_source(ids)}"
        " WHERE run_id BETWEEN ? AND ? AND run_id IN (SELECT unnest(?::INTEGER[]))"
        " AND (passed IS NOT NULL OR split_part(reason, ':', 1) IN (SELECT unnest(?::VARCHAR[])))",
        [min(ids), max(ids), ids, list(missing_as_fail)],
    )
    for batch in batches:
        column = columns[batch["question_id"].to_numpy()]
        cell = row_of[batch["run_id"].to_numpy()] * n_questions + column
        counted = column >= 0
        np.add.at(trials, cell[counted], 1)
        np.add.at(passes, cell[counted], batch["passed"].to_numpy()[counted])
