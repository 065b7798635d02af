"""Writing adaptive sessions: opening, adding what was told, finishing; reading is re-exported."""

import difflib
import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import pyarrow as pa

from recurring_eval.errors import InputError
from storage.file.history import History
from storage.keys import bank_question_ids, free_id
from storage.runs.benchmarks import benchmark_row_id
from storage.sessions.session_lookup import (
    SUGGESTIONS,
    SessionRecord,
    SessionStep,
    find_session,
    list_sessions,
    session_by_id,
)
from storage.times import to_utc

__all__ = [
    "SessionRecord",
    "SessionStep",
    "add_steps",
    "find_session",
    "finish_session",
    "list_sessions",
    "save_session",
]

HASH_LETTERS: Final = 8


def save_session(
    history: History,
    *,
    benchmark: str,
    bank_version: str,
    family: str,
    agent: str,
    method: str,
    k: int,
    seed: int,
    calibration_id: int,
    opened_at: datetime,
) -> str:
    """Store a session without steps and return its id, which follows from what is given.

    Raises
    ------
    InputError
        If the benchmark lacks the bank version or the calibration.
    """
    benchmark_id = benchmark_row_id(history, benchmark)
    bank_id, _ = bank_question_ids(history, benchmark, bank_version, ())
    known = "SELECT 1 FROM calibration WHERE calibration_id = ? AND benchmark_id = ?"
    if not history.rows(known, [calibration_id, benchmark_id]):
        raise InputError(f"benchmark {benchmark!r} has no calibration {calibration_id}")
    moment = to_utc(opened_at, "`opened_at`")
    asked = [bank_version, family, agent, method, k, seed, calibration_id, moment.isoformat()]
    digest = hashlib.sha256(json.dumps(asked, ensure_ascii=False).encode()).hexdigest()
    name = f"{benchmark}-{method}-k{k}-{digest[:HASH_LETTERS]}"
    session_id = free_id(history, "adaptive_session", "session_id", name)
    history.insert_row(
        "adaptive_session",
        session_id=session_id,
        benchmark_id=benchmark_id,
        bank_id=bank_id,
        agent_family=family,
        agent=agent,
        method=method,
        k=k,
        seed=seed,
        calibration_id=calibration_id,
        opened_at=moment,
    )
    return session_id


def add_steps(history: History, session_id: str, steps: Sequence[SessionStep]) -> None:
    """Append steps to an open session, inside the caller's transaction; all or none.

    Raises
    ------
    InputError
        If there is no such session or it is finished, or a question is not in its bank,
        was answered before, or has counts or a reason that cannot be.
    """
    session = _open_session(history, session_id)
    answered = {step.question_id for step in session.steps}
    for step in steps:
        _check_step(step)
        if step.question_id in answered:
            raise InputError(
                f"question {step.question_id!r} was answered in session {session_id} already; "
                "a session never asks twice"
            )
        answered.add(step.question_id)
    if not steps:
        return
    questions = _question_row_ids(history, session, [step.question_id for step in steps])
    first = len(session.steps)
    told = [to_utc(step.told_at, "`told_at`") for step in steps]
    history.insert(
        "adaptive_step",
        pa.table(
            {
                "session_id": pa.array([session_id] * len(steps), pa.string()),
                "position": pa.array(range(first, first + len(steps)), pa.int32()),
                "question_id": pa.array(questions, pa.int32()),
                "passes": pa.array([step.passes for step in steps], pa.int32()),
                "trials": pa.array([step.trials for step in steps], pa.int32()),
                "reason": pa.array([step.reason for step in steps], pa.string()),
                "told_at": pa.array(told, pa.timestamp("us", tz="UTC")),
            }
        ),
    )


def finish_session(
    history: History, session_id: str, *, run_id: int | None, finished_at: datetime
) -> None:
    """Close an open session, with the run it became; None where it was given up.

    Raises
    ------
    InputError
        If there is no such session, it is finished already, or its benchmark lacks the run.
    """
    session = _open_session(history, session_id)
    if run_id is not None:
        of_benchmark = "SELECT 1 FROM run WHERE run_id = ? AND benchmark_id = ?"
        if not history.rows(of_benchmark, [run_id, benchmark_row_id(history, session.benchmark)]):
            raise InputError(f"benchmark {session.benchmark!r} has no run {run_id}")
    history.execute(
        "UPDATE adaptive_session SET finished_at = ?, run_id = ? WHERE session_id = ?",
        [to_utc(finished_at, "`finished_at`"), run_id, session_id],
    )


def _open_session(history: History, session_id: str) -> SessionRecord:
    session = session_by_id(history, session_id)
    if session.finished_at is not None:
        raise InputError(
            f"session {session_id} was finished on {session.finished_at:%Y-%m-%d %H:%M} UTC; "
            "start another one"
        )
    return session


def _check_step(step: SessionStep) -> None:
    question = f"question {step.question_id!r}"
    if not 0 <= step.passes <= step.trials:
        raise InputError(f"{question} has {step.passes} passes of {step.trials} trials")
    if not step.trials and not step.reason:
        raise InputError(f"{question} has no trials and no reason why; give a reason")
    if step.trials and step.reason is not None:
        raise InputError(
            f"{question} has a verdict and the reason {step.reason!r} for a missing one"
        )


def _question_row_ids(
    history: History, session: SessionRecord, question_ids: Sequence[str]
) -> list[int]:
    rows = history.rows(
        "SELECT q.question_key, q.question_id FROM bank_question AS q"
        " JOIN adaptive_session AS s USING (bank_id) WHERE s.session_id = ?",
        [session.session_id],
    )
    ids: dict[str, int] = dict(rows)
    for question in question_ids:
        if question not in ids:
            near = ", ".join(difflib.get_close_matches(question, sorted(ids), n=SUGGESTIONS))
            advice = f"near it: {near}" if near else "give a question that the session asked"
            raise InputError(
                f"question {question!r} is not in the bank of session {session.session_id}; "
                f"{advice}"
            )
    return [ids[question] for question in question_ids]
