"""What a night's page is made from, read from the history once."""

from dataclasses import dataclass
from datetime import date
from typing import Self

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.app.targets import Target
from jobs.nights.history import end_of
from recurring_eval.methods.hspr import HSPR_SOURCES
from recurring_eval.records import RunKind, ScoredRun
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import (
    StoredCalibration,
    calibration_on,
    latest_calibration,
    load_calibration,
)
from storage.calibrations.estimates import FullRunCheck, list_checks
from storage.file.history import History
from storage.runs.runs import list_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class NightData:
    """The benchmark and family as they were known at the end of a night.

    Attributes
    ----------
    app : App
    history : History
        Open; read only.
    view : BenchmarkView
    target : Target
    day : date
    runs : tuple of ScoredRun
        In order of start.
    calibration : StoredCalibration or None
        Of the night, or else the latest before its end.
    matrix : ResponseMatrix or None
        Counts that the calibration was fitted on.
    checks : tuple of FullRunCheck
        Of the runs.
    """

    app: App
    history: History
    view: BenchmarkView
    target: Target
    day: date
    runs: tuple[ScoredRun, ...]
    calibration: StoredCalibration | None
    matrix: ResponseMatrix | None
    checks: tuple[FullRunCheck, ...]

    @classmethod
    def load(cls, app: App, history: History, target: Target, day: date) -> Self:
        """Read it; later runs and checks are left out."""
        view, end = app.view(target.benchmark), end_of(day)
        runs = list_runs(history, target.benchmark, family=target.family, before=end)
        info = calibration_on(history, *target.key, day) or latest_calibration(
            history, *target.key, data_before=end
        )
        calibration = None if info is None else load_calibration(history, info, (HSPR_SOURCES,))
        matrix = None
        if calibration is not None:
            used = set(calibration.fitted.rasch.run_ids)
            matrix = view.matrix(
                history,
                [run for run in runs if run.run_key in used],
                calibration.fitted.question_ids,
                bank_version=calibration.info.bank_version,
            )
        checks = list_checks(history, target.benchmark, family=target.family)
        return cls(
            app=app,
            history=history,
            view=view,
            target=target,
            day=day,
            runs=tuple(view.scored(history, runs)),
            calibration=calibration,
            matrix=matrix,
            checks=tuple(check for check in checks if check.started_at < end),
        )

    @property
    def full_runs(self) -> list[ScoredRun]:
        """Full runs with enough valid verdicts."""
        return [
            scored
            for scored in self.runs
            if scored.run.kind is RunKind.FULL and not scored.run.under_covered
        ]
