"""From the verdicts a reader found to the columns of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS, RunLog, RunPurpose

ERROR: Final = "error"
TIMEOUT: Final = "timeout"
SKIPPED: Final = "skipped"
NOT_RUN: Final = "not run"
INVALIDATED: Final = "invalidated"

_LONGEST_REASON: Final = 120
_MOST_REASONS: Final = 1000
_MOST_TRIALS: Final = 30_000
_WORDS: Final = {PASS: "pass", FAIL: "fail", MISSING: "missing"}
_LATE: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedVerdict:
    """One verdict as a log tells it.

    Attributes
    ----------
    question : str
        See `question_key`.
    outcome : int
        PASS, FAIL or MISSING.
    reason : str
        Of a missing verdict, made with `missing_reason`; else empty.
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
    # A later import may fill in what was not run, which is told by the bare word.
    if not text or kind == NOT_RUN:
        return kind
    short = text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."
    return f"{kind}: {short}"


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
        The tool's name of the benchmark; the import makes it the benchmark unless told otherwise.
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
    rows = _distinct(_numbered(list(verdicts)))
    if not rows:
        raise InputError(f"run {run_key!r} has no verdict; it was stopped before the first")
    if all(row.outcome == MISSING for row in rows):
        told = ", ".join(dict.fromkeys(row.reason for row in rows[:3]))
        raise InputError(f"run {run_key!r} has no valid verdict (missing: {told}); remove it")
    started = started_at or min((r.started_at for r in rows if r.started_at), default=None)
    if started is None:
        raise InputError(f"run {run_key!r} says nowhere when it started")
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
    for row in rows:
        if row.outcome == MISSING:
            # So many different reasons are noise: what is left of the later ones is their kind.
            text = row.reason if len(reasons) < _MOST_REASONS else row.reason.partition(":")[0]
            reasons.setdefault(text, len(reasons))
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
        trial=np.array([row.trial for row in rows], dtype=np.int16),
        outcome=np.array([row.outcome for row in rows], dtype=np.int8),
        reasons=tuple(reasons),
        reason_index=np.array([_reason_position(row, reasons) for row in rows], dtype=np.int16),
        duration_s=np.array([_amount(row.duration_s) for row in rows]),
        cost=np.array([_amount(row.cost) for row in rows]),
    )


def _reason_position(row: LoggedVerdict, reasons: dict[str, int]) -> int:
    if row.outcome != MISSING:
        return -1
    return reasons.get(row.reason, reasons.get(row.reason.partition(":")[0], 0))


def _amount(number: float) -> float:
    return number if 0.0 <= number < float("inf") else float("nan")


def _numbered(rows: list[LoggedVerdict]) -> list[tuple[tuple[str, int], LoggedVerdict]]:
    """Rows with their (question, trial), in order."""
    found = [((row.question, row.trial), row) for row in rows if row.trial is not None]
    unnumbered: dict[str, list[LoggedVerdict]] = {}
    for row in rows:
        if row.trial is None:
            unnumbered.setdefault(row.question, []).append(row)
    for question, attempts in unnumbered.items():
        in_time = sorted(attempts, key=lambda row: row.started_at or _LATE)
        found += [((question, trial), row) for trial, row in enumerate(in_time, start=1)]
    for (question, trial), _ in found:
        if not 1 <= trial <= _MOST_TRIALS:
            raise InputError(f"question {question!r} has trial {trial}; trials count from 1")
    return found


def _distinct(found: list[tuple[tuple[str, int], LoggedVerdict]]) -> list[LoggedVerdict]:
    kept: dict[tuple[str, int], LoggedVerdict] = {}
    for (question, trial), row in found:
        known = kept.get((question, trial))
        if known is None:
            kept[question, trial] = _with_trial(row, trial)
        elif known.outcome != row.outcome:
            raise InputError(
                f"question {question!r}, trial {trial} has two verdicts, "
                f"{_WORDS[known.outcome]} and {_WORDS[row.outcome]}; keep one"
            )
    return list(kept.values())


def _with_trial(row: LoggedVerdict, trial: int) -> LoggedVerdict:
    if row.trial == trial:
        return row
    return LoggedVerdict(
        question=row.question,
        outcome=row.outcome,
        reason=row.reason,
        trial=trial,
        started_at=row.started_at,
        finished_at=row.finished_at,
        duration_s=row.duration_s,
        cost=row.cost,
        content_hash=row.content_hash,
    )
