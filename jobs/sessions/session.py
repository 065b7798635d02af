"""An adaptive session under way: rebuilt from what the history keeps of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from jobs.app.app import App
from jobs.app.config import BenchmarkSettings
from jobs.estimating.asked import StepByStep
from jobs.estimating.run_estimates import RunEstimate, estimate_verdicts
from jobs.importing.verdict_counts import Verdicts
from jobs.nights.history import failing_reasons
from jobs.randomness import generator
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr import HsprCalibration, HsprSession
from storage.calibrations.calibration_records import CalibrationRecord
from storage.calibrations.calibrations import calibration_by_id
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names
from storage.runs.runs import list_runs
from storage.sessions.adaptive_sessions import (
    SessionRecord,
    SessionStep,
    find_session,
    list_sessions,
)

HSPR: Final = "hspr"
ADAPTIVE_METHODS: Final = (HSPR,)
"""Methods that can ask step by step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSession:
    """A stored session with the calibration it was opened under.

    Attributes
    ----------
    record : SessionRecord
    calibration : CalibrationRecord
    settings : BenchmarkSettings
        They say which missing verdicts count as fails, and the level of intervals.
    asking : HsprSession
        Has taken in every step of the record.
    """

    record: SessionRecord
    calibration: CalibrationRecord
    settings: BenchmarkSettings
    asking: HsprSession

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
        return len(self.record.steps) >= self.asking.model.n_questions

    def next_questions(self, n: int) -> tuple[str, ...]:
        """Choose the next `n` questions together, at most what is left of k."""
        wanted = min(n, self.n_left)
        return self.asking.ask(wanted) if wanted else ()

    def verdicts(self) -> Verdicts:
        """Count what was told, in the order of the calibration's questions."""
        ids = self.calibration.model.question_ids
        position = {question: j for j, question in enumerate(ids)}
        passes = np.zeros(len(ids), dtype=np.int16)
        trials = np.zeros_like(passes)
        for question, counts in counted(self.record.steps, self.settings).items():
            passes[position[question]], trials[position[question]] = counts
        return Verdicts(passes=passes, trials=trials, started_at=self.record.opened_at)

    def estimate(self, app: App) -> RunEstimate | None:
        """Estimate as the session's run will be; None before any valid verdict."""
        if not self.n_valid:
            return None
        told = frozenset(step.question_id for step in self.record.steps)
        return estimate_verdicts(
            app,
            self.calibration,
            self.verdicts(),
            run_key=self.record.session_id,
            asked=StepByStep(session=self.record, question_ids=told),
            method=self.record.method,
        )


def load_session(
    history: History, record: SessionRecord, settings: BenchmarkSettings
) -> AdaptiveSession:
    """Load what a stored session needs; nothing is computed yet.

    Raises
    ------
    InputError
        If its calibration is gone or cannot ask.
    """
    calibration = calibration_by_id(history, record.calibration_id)
    return rebuild(record, calibration, settings)


def rebuild(
    record: SessionRecord, calibration: CalibrationRecord, settings: BenchmarkSettings
) -> AdaptiveSession:
    """Rebuild a session from its seed and steps."""
    sources = fitted_sources(calibration, settings)
    # The order within groups depends on the seed alone, so that the steps may be replayed.
    begun = HsprSession.start(
        sources.model, sources.config, rng=generator(record.seed, "adaptive", "order")
    )
    return AdaptiveSession(
        record=record,
        calibration=calibration,
        settings=settings,
        asking=begun.tell(counted(record.steps, settings)),
    )


def fitted_sources(calibration: CalibrationRecord, settings: BenchmarkSettings) -> HsprCalibration:
    """Find the fitted sources of HSPR in a calibration.

    Raises
    ------
    NotEnoughDataError
        If it has none.
    """
    if calibration.hspr is not None:
        return calibration.hspr
    target = f"benchmark {calibration.benchmark!r}, family {calibration.agent_family!r}"
    if settings.hspr == "off":
        raise NotEnoughDataError(
            f'hspr is off in the settings of {target}; set `hspr = "average"` in '
            "recurring-eval.toml, then run `recurring-eval recalibrate --force`"
        )
    raise NotEnoughDataError(
        f"calibration {calibration.calibration_id} of {target} has no sources fitted for hspr; run "
        "`recurring-eval recalibrate --force`, which says why if it cannot fit them"
    )


def counted(
    steps: Sequence[SessionStep], settings: BenchmarkSettings
) -> dict[str, tuple[int, int]]:
    """Count passes and trials of each told question; a miss that counts as a fail has one."""
    failing = failing_reasons(settings)
    return {step.question_id: _counts(step, failing) for step in steps}


def require_adaptive(method: str) -> None:
    """Refuse a method that cannot ask step by step, with InputError."""
    if method not in ADAPTIVE_METHODS:
        raise InputError(
            f"method {method!r} does not ask step by step; those that do: "
            f"{', '.join(ADAPTIVE_METHODS)} (fixed questions come from `recurring-eval subset`)"
        )


def _counts(step: SessionStep, failing: Sequence[str]) -> tuple[int, int]:
    if not step.trials and str(step.reason).partition(":")[0] in failing:
        return 0, 1
    return step.passes, step.trials


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
        return load_session(history, record, app.settings.for_benchmark(record.benchmark))


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
