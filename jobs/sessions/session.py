"""An adaptive session under way: rebuilt from what the history keeps of it."""

from dataclasses import dataclass

import numpy as np

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.estimating.asked import StepByStep
from jobs.estimating.estimate import asking_method
from jobs.estimating.run_estimates import RunEstimate, estimate_verdicts
from jobs.importing.verdict_counts import Verdicts
from jobs.randomness import generator
from recurring_eval.errors import InputError
from recurring_eval.methods.session import Session
from storage.calibrations.calibrations import (
    StoredCalibration,
    calibration_by_id,
    load_calibration,
)
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names
from storage.runs.runs import list_runs
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
    """

    record: SessionRecord
    calibration: StoredCalibration
    view: BenchmarkView
    asking: Session

    @property
    def n_valid(self) -> int:
        """Questions with a valid verdict."""
        return self.asking.n_valid

    @property
    def n_left(self) -> int:
        """Valid verdicts still wanted."""
        return max(0, self.record.k - self.n_valid)

    @property
    def is_exhausted(self) -> bool:
        """Whether every question of the bank was told."""
        return len(self.record.steps) >= self.calibration.fitted.n_questions

    def verdicts(self) -> Verdicts:
        """Count what was told, in the order of the calibration's questions."""
        ids = self.calibration.fitted.question_ids
        position = {question: j for j, question in enumerate(ids)}
        passes = np.zeros(len(ids), dtype=np.int16)
        trials = np.zeros_like(passes)
        for question, counts in self.view.counts_of_steps(self.record.steps).items():
            passes[position[question]], trials[position[question]] = counts
        return Verdicts(passes=passes, trials=trials, started_at=self.record.opened_at)

    def estimate(self) -> RunEstimate | None:
        """Estimate as the session's run will be; None before any valid verdict."""
        if not self.n_valid:
            return None
        told = frozenset(step.question_id for step in self.record.steps)
        return estimate_verdicts(
            self.view,
            self.calibration,
            self.verdicts(),
            run_key=self.record.session_id,
            asked=StepByStep(question_ids=told, k=self.record.k, chosen_by=self.record.method),
            method=self.asking.method,
        )


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


def find_open(app: App, reference: str) -> SessionRecord:
    """Find a session that can still be told.

    Raises
    ------
    InputError
        If it is unknown or finished.
    """
    with app.open_history(read_only=True) as history:
        record = find_session(history, reference)
    require_open(record)
    return record


def open_session(app: App, reference: str) -> AdaptiveSession:
    """Load a session that can still be told, with InputError as `find_open`."""
    with app.open_history(read_only=True) as history:
        record = find_session(history, reference)
        require_open(record)
        return load_session(app, history, record)


def require_open(record: SessionRecord) -> None:
    """Refuse a finished session, with InputError."""
    if record.finished_at is not None:
        raise InputError(
            f"session {record.session_id} was finished on {record.finished_at:%Y-%m-%d %H:%M} UTC; "
            "see it with `recurring-eval adaptive show`, or start another one"
        )


def run_of(history: History, record: SessionRecord) -> str | None:
    """Key of the run that a session became, None where it is open or was given up."""
    if record.run_id is None:
        return None
    runs = list_runs(history, record.benchmark)
    return next((run.run_key for run in runs if run.run_id == record.run_id), None)
