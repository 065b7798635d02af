"""What a run was asked: a subset, questions step by step, or the whole bank."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.estimating.under_calibration import calibration_for_partial, calibration_in_force
from recurring_eval.errors import InputError
from storage.calibrations.calibration_records import CalibrationRecord
from storage.calibrations.calibrations import calibration_by_id
from storage.calibrations.subsets import SubsetRecord, find_subset
from storage.file.history import History
from storage.sessions import SessionRecord, session_by_id


@dataclass(frozen=True, slots=True, kw_only=True)
class StepByStep:
    """Questions that an adaptive method asked.

    Attributes
    ----------
    session : SessionRecord or None
        None where the history does not know it.
    question_ids : frozenset of str
        Asked, with or without a valid verdict.
    """

    session: SessionRecord | None
    question_ids: frozenset[str]

    @property
    def k(self) -> int:
        """Questions that were wanted, as far as is known."""
        return len(self.question_ids) if self.session is None else self.session.k


Asked = SubsetRecord | StepByStep | None
"""None for the whole bank."""


def find_asked(
    history: History,
    *,
    run_key: str,
    benchmark: str,
    subset_id: str | None,
    session_id: str | None,
    own_questions: Callable[[], Sequence[str]],
) -> Asked:
    """Find what a run of a benchmark was asked.

    Parameters
    ----------
    history : History
    run_key, benchmark : str
    subset_id : str or None
        Goes before the session.
    session_id : str or None
    own_questions : callable
        Gives the questions that the run has verdicts on, missing ones included; called
        for a session that the history does not know or that has no steps.

    Raises
    ------
    InputError
        If the subset is unknown, or it or the session belongs to another benchmark.
    """
    if subset_id is not None:
        record = find_subset(history, subset_id)
        _require_benchmark(f"subset {subset_id!r}", record.benchmark, run_key, benchmark)
        return record
    if session_id is None:
        return None
    try:
        session = session_by_id(history, session_id)
    except InputError:
        return StepByStep(session=None, question_ids=frozenset(own_questions()))
    _require_benchmark(f"session {session_id!r}", session.benchmark, run_key, benchmark)
    asked = frozenset(step.question_id for step in session.steps) or frozenset(own_questions())
    return StepByStep(session=session, question_ids=asked)


def calibration_under_which(
    history: History, benchmark: str, family: str, at: datetime, asked: Asked
) -> CalibrationRecord:
    """Load the calibration under which a run that started at a time was asked.

    Raises
    ------
    NotEnoughDataError
        If there is none.
    """
    if isinstance(asked, SubsetRecord):
        return calibration_for_partial(history, benchmark, family, at, asked)
    if asked is not None and asked.session is not None:
        return calibration_by_id(history, asked.session.calibration_id)
    return calibration_in_force(history, benchmark, family, at)


def _require_benchmark(what: str, its_own: str, run_key: str, benchmark: str) -> None:
    if its_own != benchmark:
        raise InputError(
            f"{what} belongs to benchmark {its_own!r}, but run {run_key!r} to {benchmark!r}"
        )
