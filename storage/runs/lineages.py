"""Retries: logs of their own that go on with a stored run."""

import dataclasses
from typing import Final

import numpy as np

from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, RunLog
from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.runs.runs import find_run

RETRIED: Final = ("error", "not run")
"""Kinds of reasons for which a retry runs a question again; any other is a decision."""

_FACTS: Final = (
    "agent",
    "agent_config",
    "agent_family",
    "purpose",
    "started_at",
    "subset_id",
    "session_id",
)


def lineage_run(history: History, benchmark: str, lineage: str) -> str | None:
    """Key of the run that the lineage began with, if any of it is stored."""
    rows = history.rows(
        "SELECT run_key FROM run_lineage WHERE benchmark_id = ? AND lineage = ?",
        [benchmark_row_id(history, benchmark), lineage],
    )
    return str(rows[0][0]) if rows else None


def save_lineage(history: History, benchmark: str, lineage: str, run_key: str) -> None:
    """Remember that later logs of the lineage go on with this run."""
    if lineage_run(history, benchmark, lineage) is None:
        history.insert_row(
            "run_lineage",
            benchmark_id=benchmark_row_id(history, benchmark),
            lineage=lineage,
            run_key=run_key,
        )


def continue_run(
    history: History, benchmark: str, log: RunLog, run_key: str, *, replace: bool = False
) -> RunLog:
    """Rewrite a log of a retry as more verdicts of the stored run.

    A stored verdict that is missing gives way to a valid one of the retry;
    verdicts that failed to come about in the retry say nothing about those stored. Write
    the result with ``replace=True``, which then replaces nothing but missing
    verdicts, unless valid ones may be replaced as well.

    Raises
    ------
    InputError
        If a valid verdict of the run differs.
    """
    run = find_run(history, run_key, benchmark=benchmark)
    stored = {
        (key, trial): passed
        for key, trial, passed in history.rows(
            "SELECT q.question_key, v.trial, v.passed FROM verdict AS v"
            " JOIN question AS q USING (question_id) WHERE v.run_id = ?",
            [run.run_id],
        )
    }
    keep = np.ones(len(log.outcome), dtype=np.bool_)
    own = log.run_key == run_key
    for row, (question, trial, outcome) in enumerate(
        zip(log.question_index.tolist(), log.trial.tolist(), log.outcome.tolist(), strict=True)
    ):
        cell = (log.question_ids[question], trial)
        if cell not in stored:
            continue
        before = stored[cell]
        reason = "" if outcome != MISSING else log.reasons[log.reason_index[row]]
        decided = bool(reason) and reason.partition(":")[0] not in RETRIED
        changed = before is not None and (outcome == 1 - before or decided)
        keep[row] = changed or (before is None and outcome != MISSING)
        if changed and not replace:
            raise InputError(
                f"run {log.run_key}{'' if own else f', a retry of run {run_key}'}: the verdict on "
                f"question {cell[0]!r}, trial {trial} differs from the stored one; import with "
                "--replace to take the log's (the old one is kept)"
            )
    facts = {} if own else {name: getattr(run, name) for name in _FACTS}
    return dataclasses.replace(
        log,
        run_key=run_key,
        **facts,
        question_index=log.question_index[keep],
        trial=log.trial[keep],
        outcome=log.outcome[keep],
        reason_index=log.reason_index[keep],
        duration_s=log.duration_s[keep],
        cost=log.cost[keep],
    )
