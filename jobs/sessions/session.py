"""An adaptive session under way: rebuilt from what the history keeps of it."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.estimating.asked import StepByStep
from jobs.estimating.estimate import asking_method
from jobs.estimating.run_estimates import RunEstimate, estimate_verdicts
from jobs.randomness import generator
from jobs.sessions.answers import Answer
from recurring_eval.errors import InputError
from recurring_eval.methods.session import Session
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import (
    StoredCalibration,
    calibration_by_id,
    load_calibration,
)
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names
from storage.sessions import SessionRecord, find_session, list_sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSession:
    """A stored session with the calibration it was opened under.

    Attributes
    ----------
    record : SessionRecord
    calibration : StoredCalibration
    view : BenchmarkView
        Which missing verdicts count as fails, and the level of intervals.
    asking : Session
        Has taken in every step of the record.
    questions : tuple of str
        Chosen to be run next; none when finished.
    estimate : RunEstimate or None
        None before any valid verdict.
    run_key : str or None
        The run that a finished session became.
    new : tuple of Answer
        What the last command stored.
    """

    record: SessionRecord
    calibration: StoredCalibration
    view: BenchmarkView
    asking: Session
    questions: tuple[str, ...] = ()
    estimate: RunEstimate | None = None
    run_key: str | None = None
    new: tuple[Answer, ...] = ()

    @property
    def n_valid(self) -> int:
        """Questions with a valid verdict."""
        return self.asking.n_valid

    @property
    def n_left(self) -> int:
        """Valid verdicts still wanted."""
        return max(0, self.record.k - self.n_valid)

    def estimated(self) -> Self:
        """Estimate as the session's run will be; there is none before any valid verdict."""
        if not self.n_valid:
            return self
        record, ids = self.record, self.calibration.fitted.question_ids
        passes, trials = np.zeros((2, 1, len(ids)), dtype=np.int16)
        for question, n_passes, n_trials in self.asking.answers:
            passes[0, question], trials[0, question] = n_passes, n_trials
        verdicts = ResponseMatrix(
            passes=passes,
            trials=trials,
            run_ids=(record.session_id,),
            question_ids=ids,
            started_at=(record.opened_at,),
            agents=(record.agent,),
        )
        asked = StepByStep(
            question_ids=frozenset(self.asking.asked), k=record.k, chosen_by=record.method
        )
        estimate = estimate_verdicts(
            self.view, self.calibration, verdicts, asked=asked, method=self.asking.method
        )
        return replace(self, estimate=estimate)

    def asked_next(self, n: int = 1) -> Self:
        """Estimate, and choose the next questions to run; none of a finished session."""
        questions = () if self.record.finished_at is not None else self.asking.ask(n)
        return replace(self.estimated(), questions=questions)


def load_session(app: App, history: History, record: SessionRecord) -> AdaptiveSession:
    """Load what a stored session needs; nothing is computed yet.

    Raises
    ------
    InputError
        If its calibration is gone or cannot ask.
    """
    info = calibration_by_id(history, record.calibration_id)
    calibration = load_calibration(history, info, asking_method(record.method).models)
    return rebuild(record, calibration, app.view(record.benchmark))


def rebuild(
    record: SessionRecord, calibration: StoredCalibration, view: BenchmarkView
) -> AdaptiveSession:
    """Rebuild a session from its seed and steps.

    Raises
    ------
    NotEnoughDataError
        The calibration lacks a model that the method needs.
    """
    # The order of equals depends on the seed alone, so that the steps may be replayed.
    begun = Session.start(
        asking_method(record.method),
        calibration.fitted,
        k=record.k,
        rng=generator(record.seed, "adaptive", "order"),
    )
    return AdaptiveSession(
        record=record,
        calibration=calibration,
        view=view,
        asking=begun.tell(view.counts_of_steps(record.steps)),
    )


def open_sessions(app: App) -> list[SessionRecord]:
    """List the sessions that are not finished, of every benchmark, in the order of opening."""
    with app.open_history(read_only=True) as history:
        found = [
            record
            for name in benchmark_names(history)
            for record in list_sessions(history, name, unfinished=True)
        ]
    return sorted(found, key=lambda record: (record.opened_at, record.session_id))


def find_open(history: History, reference: str) -> SessionRecord:
    """Find a session that can still be told.

    Raises
    ------
    InputError
        If it is unknown or finished.
    """
    record = find_session(history, reference)
    if record.finished_at is not None:
        raise InputError(
            f"session {record.session_id} was finished on {record.finished_at:%Y-%m-%d %H:%M} UTC; "
            "see it with `recurring-eval adaptive show`, or start another one"
        )
    return record


def open_session(app: App, reference: str) -> AdaptiveSession:
    """Load a session that can still be told, with InputError as `find_open`."""
    with app.open_history(read_only=True) as history:
        return load_session(app, history, find_open(history, reference))
