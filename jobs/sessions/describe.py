"""An adaptive session in words, and as a document."""

from collections.abc import Iterable, Sequence

from jobs.app.app import App
from jobs.estimating.describe import describe, document
from jobs.sessions.answers import answer_of_step
from jobs.sessions.session import AdaptiveSession
from storage.sessions import SessionRecord


def session_document(session: AdaptiveSession) -> dict[str, object]:
    """Build the stable JSON document of a session."""
    record = session.record
    return _facts(record) | {
        "n_valid": session.asking.n_valid,
        "n_left": session.n_left,
        "questions": session.questions,
        "asked": [step.question_id for step in record.steps],
        "estimate": None if session.estimate is None else document(session.estimate),
        "run_id": session.run_key,
        "calibration_id": record.calibration_id,
        "seed": record.seed,
    }


def list_document(app: App, records: Iterable[SessionRecord]) -> dict[str, object]:
    """Build the JSON document of a list of sessions."""
    return {"sessions": [_facts(record) | _progress(app, record) for record in records]}


def describe_list(app: App, records: Sequence[SessionRecord]) -> list[str]:
    """Describe each session in a line."""
    if not records:
        return ["no open session; start one with `recurring-eval adaptive start --k K`"]
    return [
        f"{record.session_id}: {record.agent}, opened {record.opened_at:%Y-%m-%d %H:%M} UTC, "
        f"{_progress(app, record)['n_valid']} of {record.k} valid verdicts"
        for record in records
    ]


def describe_progress(session: AdaptiveSession) -> list[str]:
    """Describe how far a session is, its estimate so far, and what comes next."""
    record = session.record
    missing = len(record.steps) - session.asking.n_valid
    gaps = f", {missing} without a valid verdict" if missing else ""
    lines = [
        f"session {record.session_id}: {session.asking.n_valid} of {record.k} valid verdicts"
        f"{gaps}; {session.n_left} left"
    ]
    if session.estimate is not None:
        lines += describe(session.estimate)
    return [*lines, *describe_next(session)]


def describe_next(session: AdaptiveSession) -> list[str]:
    """Describe which questions to run next, or how to go on where there are none."""
    record = session.record
    if record.finished_at is not None:
        became = f"run {session.run_key}" if session.run_key else "no run, it was given up"
        return [f"finished {record.finished_at:%Y-%m-%d %H:%M} UTC: {became}"]
    if session.questions:
        return [f"next: {question}" for question in session.questions]
    return [f"next: nothing; recurring-eval adaptive finish {record.session_id}"]


def describe_whole(session: AdaptiveSession) -> list[str]:
    """Describe a session in full: what it is, its steps, and its estimate."""
    record = session.record
    head = [
        f"session {record.session_id}: {record.method} on {record.benchmark} "
        f"({record.agent_family}), agent {record.agent}",
        f"opened {record.opened_at:%Y-%m-%d %H:%M} UTC, seed {record.seed}, "
        f"calibration {record.calibration_id}",
    ]
    steps = [
        f"{number:>4}. {step.question_id}: {answer_of_step(step)}"
        for number, step in enumerate(record.steps, start=1)
    ]
    _, *progress = describe_progress(session)
    told = f"{session.asking.n_valid} of {record.k} valid verdicts; {session.n_left} left"
    return [*head, told, *steps, *progress]


def _facts(record: SessionRecord) -> dict[str, object]:
    return {
        "session_id": record.session_id,
        "method": record.method,
        "k": record.k,
        "finished": record.finished_at is not None,
        "benchmark": record.benchmark,
        "agent_family": record.agent_family,
        "agent": record.agent,
        "opened_at": record.opened_at,
        "finished_at": record.finished_at,
    }


def _progress(app: App, record: SessionRecord) -> dict[str, int]:
    counts = app.view(record.benchmark).counts_of_steps(record.steps)
    n_valid = sum(trials > 0 for _, trials in counts.values())
    return {"n_valid": n_valid, "n_left": max(0, record.k - n_valid)}
