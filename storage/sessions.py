"""Adaptive sessions: opening them, adding answers, finishing and finding them."""

import difflib
import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from recurring_eval.errors import InputError
from storage.file.history import History
from storage.references import SUGGESTIONS, not_one
from storage.runs.benchmarks import bank_question_ids, benchmark_row_id
from storage.values import columns, to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStep:
    """A question that was answered.

    Attributes
    ----------
    question_id : str
    passes, trials : int
        Without trials the verdict is missing.
    reason : str or None
        Why the verdict is missing; None where there is one.
    told_at : datetime
    """

    question_id: str
    passes: int
    trials: int
    reason: str | None = None
    told_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A stored session.

    Attributes
    ----------
    session_id : str
        What users see, e.g. ``swebench-verified-hspr-k100-3f9a2c1b``.
    benchmark, bank_version, agent_family : str
    agent : str
        Who is evaluated.
    method : str
    k : int
        Valid verdicts wanted.
    seed : int
        With the calibration and the steps it rebuilds the session.
    calibration_id : int
    opened_at : datetime
    finished_at : datetime or None
    run_id : int or None
        The history's integer of the run that a finished session became.
    steps : tuple of SessionStep
        In the order they were told.
    """

    session_id: str
    benchmark: str
    bank_version: str
    agent_family: str
    agent: str
    method: str
    k: int
    seed: int
    calibration_id: int
    opened_at: datetime
    finished_at: datetime | None
    run_id: int | None
    steps: tuple[SessionStep, ...] = ()

    @property
    def n_valid(self) -> int:
        """Questions with a valid verdict: the budget spent."""
        return sum(step.trials > 0 for step in self.steps)


HASH_LETTERS: Final = 8
LAST: Final = "last"
COLUMNS: Final = """
SELECT s.session_id, b.name AS benchmark, k.version AS bank_version, s.agent_family, s.agent,
       s.method, s.k, s.seed, s.calibration_id, s.opened_at, s.finished_at, s.run_id
FROM adaptive_session AS s JOIN benchmark AS b USING (benchmark_id) JOIN bank AS k USING (bank_id)
"""


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
    session_id = history.free_name("adaptive_session", "session_id", name)
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
    history.insert(
        "adaptive_step",
        columns(
            {
                "session_id": session_id,
                "position": range(first, first + len(steps)),
                "question_id": questions,
                "passes": [step.passes for step in steps],
                "trials": [step.trials for step in steps],
                "reason": [step.reason for step in steps],
                "told_at": [to_utc(step.told_at, "`told_at`") for step in steps],
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


def find_session(history: History, reference: str) -> SessionRecord:
    """Session by its id, a unique beginning of it, or ``last``, the one opened last.

    Raises
    ------
    InputError
        If no session or several fit, naming those that come near.
    """
    found = _records(history, "s.session_id = ?", [reference])
    if not found and reference == LAST:
        newest = "SELECT session_id FROM adaptive_session ORDER BY opened_at DESC, session_id DESC"
        found = _records(history, f"s.session_id = ({newest} LIMIT 1)", [])
    elif not found and reference:
        found = _records(history, "starts_with(s.session_id, ?)", [reference])
    if len(found) != 1:
        raise _not_one(history, reference, found)
    return found[0]


def list_sessions(
    history: History, benchmark: str, *, family: str | None = None, unfinished: bool = False
) -> list[SessionRecord]:
    """Sessions of a benchmark in the order they were opened; only unfinished ones if asked."""
    condition = "s.benchmark_id = ? AND (?::VARCHAR IS NULL OR s.agent_family = ?)"
    if unfinished:
        condition += " AND s.finished_at IS NULL"
    return _records(history, condition, [benchmark_row_id(history, benchmark), family, family])


def session_by_id(history: History, session_id: str) -> SessionRecord:
    """Session by its whole id.

    Raises
    ------
    InputError
        If there is none, naming those that come near.
    """
    found = _records(history, "s.session_id = ?", [session_id])
    if not found:
        raise _not_one(history, session_id, ())
    return found[0]


def _records(history: History, condition: str, values: Sequence[object]) -> list[SessionRecord]:
    records = history.records(
        SessionRecord,
        f"{COLUMNS} WHERE {condition} ORDER BY s.opened_at, s.session_id",
        values,
    )
    rows = history.rows(
        "SELECT t.session_id, q.question_key, t.passes, t.trials, t.reason, t.told_at"
        " FROM adaptive_step AS t JOIN question AS q USING (question_id)"
        " WHERE t.session_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY t.position",
        [[record.session_id for record in records]],
    )
    steps = defaultdict[str, list[SessionStep]](list)
    for session_id, question, passes, trials, reason, told_at in rows:
        step = SessionStep(
            question_id=question, passes=passes, trials=trials, reason=reason, told_at=told_at
        )
        steps[session_id].append(step)
    return [replace(record, steps=tuple(steps[record.session_id])) for record in records]


def _not_one(history: History, reference: str, found: Sequence[SessionRecord]) -> InputError:
    newest = "SELECT session_id FROM adaptive_session ORDER BY opened_at DESC, session_id"
    return not_one(
        "session",
        reference,
        found=[record.session_id for record in found],
        known=[session_id for (session_id,) in history.rows(newest)],
        advice="start one first",
    )
