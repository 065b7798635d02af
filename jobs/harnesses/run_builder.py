"""Verdicts as a reader finds them, and the run log they become."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

from jobs.harnesses.log_values import amount, is_timeout
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS, RunLog, RunPurpose

ERROR: Final = "error"
TIMEOUT: Final = "timeout"
SKIPPED: Final = "skipped"
NOT_RUN: Final = "not run"
INVALIDATED: Final = "invalidated"

LONGEST_REASON: Final = 120
MOST_REASONS: Final = 1000
MOST_TRIALS: Final = 30_000
_WORDS: Final = {PASS: "pass", FAIL: "fail", MISSING: "missing"}
_LATE: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedVerdict:
    """One verdict as found in a log.

    Attributes
    ----------
    question : str
        See `question_key`.
    outcome : int
        PASS, FAIL or MISSING.
    reason : str
        Why it is missing, made with `missing_reason`; ignored for a pass or fail.
    trial : int or None
        From 1; None numbers the verdicts of a question by time, else by place in the log.
    started_at, finished_at : datetime or None
        Aware.
    duration_s, cost : float
        Seconds and the tool's currency; NaN where unknown.
    content_hash : str
        Hash of the question's content; empty if unknown. A question whose content changed
        is a new question, so leave it empty where unsure.
    """

    question: str
    outcome: int
    reason: str = ""
    trial: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    duration_s: float = float("nan")
    cost: float = float("nan")
    content_hash: str = ""


def missing_reason(kind: str, detail: object = None) -> str:
    """Reason of a missing verdict: one of the five kinds, and what the log says in one line."""
    text = str(detail or "").strip().split("\n", 1)[0].strip()
    text = " ".join(text.encode(errors="replace").decode().replace("\0", " ").split())
    # A later import may fill in what was not run, which is known by the bare word.
    if not text or kind == NOT_RUN:
        return kind
    short = text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."
    return f"{kind}: {short}"


def error_reason(message: object) -> str:
    """Reason of a verdict missing for an error: a timeout if its message is that of one."""
    return missing_reason(TIMEOUT if is_timeout(message) else ERROR, message)


def build_run(
    verdicts: Iterable[LoggedVerdict],
    *,
    run_key: str,
    task: str | None,
    agent: str,
    harness: str,
    started_at: datetime | None = None,
    finished_at: datetime | None = None,
    agent_config: str = "",
    tags: Sequence[str] = (),
    subset_id: str | None = None,
    asked: Iterable[str] = (),
) -> RunLog:
    """Put the verdicts of one run into columns.

    Parameters
    ----------
    verdicts : iterable of LoggedVerdict
        In the order of the log. Exact repetitions of a (question, trial) are dropped.
    run_key : str
        The tool's own unique id of the run.
    task : str or None
        The tool's name of the benchmark; the import makes it the benchmark unless another is given.
    agent, harness : str
    started_at, finished_at : datetime, optional
        Of the run; by default from the verdicts.
    agent_config : str
        What else ran, as ``key=value`` pairs: model, version, commit.
    tags : sequence of str
    subset_id : str, optional
        The subset the log is marked with, see `subset_marked`.
    asked : iterable of str
        Questions the run was asked that may lack a verdict, e.g. because it was killed.

    Raises
    ------
    InputError
        For no valid verdict at all, contradicting verdicts, or a run without any time.
    """
    cells = _by_cell(list(verdicts))
    rows = list(cells.values())
    if not rows:
        raise InputError(f"run {run_key!r} has no verdict; it was stopped before the first")
    if all(row.outcome == MISSING for row in rows):
        told = ", ".join(dict.fromkeys(row.reason for row in rows[:3]))
        raise InputError(f"run {run_key!r} has no valid verdict (missing: {told}); remove it")
    started = started_at or min((r.started_at for r in rows if r.started_at), default=None)
    if started is None:
        raise InputError(f"run {run_key!r} has no start time")
    finished = finished_at or max((r.finished_at for r in rows if r.finished_at), default=None)
    questions: dict[str, int] = {}
    hashes: dict[str, str] = {}
    for row in rows:
        questions.setdefault(row.question, len(questions))
        if hashes.setdefault(row.question, row.content_hash) != row.content_hash:
            raise InputError(
                f"run {run_key!r} has two contents for question {row.question!r}; "
                "give them ids of their own"
            )
    for question in asked:
        questions.setdefault(question, len(questions))
    reasons: dict[str, int] = {}
    reason_index = np.full(len(rows), -1, dtype=np.int16)
    for at, row in enumerate(rows):
        if row.outcome == MISSING:
            # So many different reasons are noise: what is left of the later ones is their kind.
            is_kept = len(reasons) < MOST_REASONS or row.reason in reasons
            text = row.reason if is_kept else row.reason.partition(":")[0]
            reason_index[at] = reasons.setdefault(text, len(reasons))
    return RunLog(
        run_key=run_key,
        benchmark=task,
        agent=agent or "unknown",
        agent_config=agent_config,
        purpose=RunPurpose.ROUTINE,
        started_at=started.astimezone(UTC),
        finished_at=None if finished is None else max(finished, started).astimezone(UTC),
        harness=harness,
        tags=tuple(tags),
        subset_id=subset_id,
        question_ids=tuple(questions),
        content_hashes=tuple(hashes.get(question, "") for question in questions),
        question_index=np.array([questions[row.question] for row in rows], dtype=np.int32),
        trial=np.array([trial for _, trial in cells], dtype=np.int16),
        outcome=np.array([row.outcome for row in rows], dtype=np.int8),
        reasons=tuple(reasons),
        reason_index=reason_index,
        duration_s=np.array([amount(row.duration_s) for row in rows]),
        cost=np.array([amount(row.cost) for row in rows]),
    )


def _by_cell(rows: list[LoggedVerdict]) -> dict[tuple[str, int], LoggedVerdict]:
    """Verdict of each question and trial, those with a number first; repetitions dropped."""
    found = [(row, row.trial) for row in rows if row.trial is not None]
    unnumbered: dict[str, list[LoggedVerdict]] = {}
    for row in rows:
        if row.trial is None:
            unnumbered.setdefault(row.question, []).append(row)
    for attempts in unnumbered.values():
        in_time = sorted(attempts, key=lambda row: row.started_at or _LATE)
        found += [(row, trial) for trial, row in enumerate(in_time, start=1)]
    cells: dict[tuple[str, int], LoggedVerdict] = {}
    for row, trial in found:
        if not 1 <= trial <= MOST_TRIALS:
            raise InputError(f"question {row.question!r} has trial {trial}; trials count from 1")
        known = cells.setdefault((row.question, trial), row)
        if known.outcome != row.outcome:
            raise InputError(
                f"question {row.question!r}, trial {trial} has two verdicts, "
                f"{_WORDS[known.outcome]} and {_WORDS[row.outcome]}; keep one"
            )
    return cells
