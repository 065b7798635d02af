"""What imports must remember: files, a tool's answers and locators, and runs to go on with."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, RunLog
from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.runs.run_table import FACTS
from storage.runs.runs import find_run
from storage.values import columns, to_utc

RETRIED: Final = ("error", "not run")
"""Kinds of reasons for which a retry runs a question again; any other is a decision."""


def lineage_run(history: History, benchmark: str, lineage: str) -> str | None:
    """Key of the run that the lineage began with, if any of it is stored."""
    rows = history.rows(
        "SELECT run_key FROM run_lineage WHERE benchmark_id = ? AND lineage = ?",
        [benchmark_row_id(history, benchmark), lineage],
    )
    return str(rows[0][0]) if rows else None


def save_lineage(history: History, benchmark: str, lineage: str, run_key: str) -> None:
    """Store that later logs of the lineage go on with this run."""
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
    a verdict that is missing in the retry says nothing about the stored one. Write
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
    facts = {} if own else {name: getattr(run, name) for name in FACTS}
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
    files = history.records(
        ImportedFile,
        "SELECT fingerprint, file_hash, f.n_runs, f.n_verdicts FROM imported_file AS f JOIN"
        " (SELECT file_hash, count(*) AS n_runs, sum(n_verdicts) AS n_verdicts"
        " FROM run GROUP BY file_hash) AS r USING (file_hash)"
        " WHERE f.n_runs = r.n_runs AND f.n_verdicts = r.n_verdicts",
    )
    return {file.fingerprint: file for file in files}


def save_locators(
    history: History,
    benchmark: str,
    harness: str,
    locators: Mapping[str, str],
    *,
    logged_at: datetime,
) -> None:
    """Store locators by question key; those of a later log stay as they are.

    Parameters
    ----------
    history : History
        With an open transaction.
    benchmark, harness : str
    locators : mapping of str to str
    logged_at : datetime
        Aware; when the log that tells them was begun.
    """
    moment = to_utc(logged_at, "the time of the locators")
    benchmark_id = benchmark_row_id(history, benchmark)
    later = {
        key
        for (key,) in history.rows(
            "SELECT question_key FROM question_locator"
            " WHERE benchmark_id = ? AND harness = ? AND logged_at > ?",
            [benchmark_id, harness, moment],
        )
    }
    keys = [key for key in locators if key not in later]
    incoming = columns(
        {
            "benchmark_id": benchmark_id,
            "harness": harness,
            "question_key": keys,
            "locator": [locators[key] for key in keys],
            "logged_at": moment,
        }
    )
    history.execute_with(
        incoming,
        "DELETE FROM question_locator WHERE benchmark_id = ? AND harness = ?"
        " AND question_key IN (SELECT question_key FROM incoming)",
        [benchmark_id, harness],
    )
    history.insert("question_locator", incoming)


def load_locators(history: History, benchmark: str, harness: str) -> dict[str, str]:
    """Locators by question key."""
    rows = history.rows(
        "SELECT question_key, locator FROM question_locator WHERE benchmark_id = ? AND harness = ?",
        [benchmark_row_id(history, benchmark), harness],
    )
    return dict(rows)


def stored_answers(history: History) -> dict[tuple[str, str], dict[str, str]]:
    """Every answer: (benchmark, harness) -> field -> answer."""
    answers: dict[tuple[str, str], dict[str, str]] = {}
    for benchmark, harness, field, answer in history.rows(
        "SELECT b.name, v.harness, v.field, v.answer"
        " FROM verdict_rule AS v JOIN benchmark AS b USING (benchmark_id)"
        " ORDER BY b.name, v.harness, v.field"
    ):
        answers.setdefault((benchmark, harness), {})[field] = answer
    return answers


def store_answers(
    history: History,
    benchmark: str,
    harness: str,
    answers: Mapping[str, str],
    *,
    now: datetime,
) -> dict[str, tuple[str, str]]:
    """Store answers, in place of previous ones to the same fields.

    Returns
    -------
    dict of str to (str, str)
        Field -> previous and new answer, where they differ.
    """
    benchmark_id = benchmark_row_id(history, benchmark)
    previous = stored_answers(history).get((benchmark, harness), {})
    moment = to_utc(now, "the time of the answer")
    for field, answer in answers.items():
        if previous.get(field) == answer:
            continue
        history.execute(
            "DELETE FROM verdict_rule WHERE benchmark_id = ? AND harness = ? AND field = ?",
            [benchmark_id, harness, field],
        )
        history.insert_row(
            "verdict_rule",
            benchmark_id=benchmark_id,
            harness=harness,
            field=field,
            answer=answer,
            decided_at=moment,
        )
    return {
        field: (previous[field], answer)
        for field, answer in answers.items()
        if previous.get(field, answer) != answer
    }


def imported_file_hashes(history: History) -> frozenset[str]:
    """SHA-256, as hex, of every file that gave or changed a run."""
    rows = history.rows("SELECT DISTINCT file_hash FROM run WHERE file_hash IS NOT NULL")
    return frozenset(file_hash for (file_hash,) in rows)
