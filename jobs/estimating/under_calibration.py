"""Methods that work with a fixed subset, and why the others do not."""

from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.app.benchmark_view import BenchmarkView
from jobs.importing.verdict_counts import Verdicts
from jobs.nights.fit import SUBSET_METHODS
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.intervals import ConformalScale
from recurring_eval.methods import METHODS, Method, estimate_score, method_named
from recurring_eval.methods.estimate import NO_RESIDUALS
from recurring_eval.methods.hspr import HSPR
from recurring_eval.records import Flag, ScoreEstimate, Subset
from recurring_eval.replay import conformal_scale
from storage.calibrations.calibration_records import CalibrationRecord
from storage.calibrations.calibrations import calibration_by_id, latest_calibration
from storage.calibrations.subsets import SubsetRecord
from storage.file.history import History


def estimating_method(name: str) -> Method:
    """Find a method that estimates from the verdicts on the questions a run was asked.

    Raises
    ------
    InputError
        If it is unknown, needs more than these verdicts, or is there for replays alone.
    """
    return _offered(name, [method for method in METHODS if not method.needs_cache])


def choosing_method(name: str) -> Method:
    """Find a method that chooses its questions before any is asked.

    Raises
    ------
    InputError
        If it is unknown, asks step by step, leaves the number of questions open, or is
        there for replays alone.
    """
    fixed = [m for m in METHODS if not m.needs_cache and not m.adaptive]
    if any(method.name == name and method.adaptive for method in METHODS):
        raise InputError(
            f"method {name!r} asks step by step: start it with "
            "`recurring-eval adaptive start --k K`; it does not publish subsets"
        )
    return _offered(name, fixed)


def _offered(name: str, usable: list[Method]) -> Method:
    names = ", ".join(method.name for method in usable)
    try:
        method = method_named(name)
    except InputError:
        if _is_compared(name):
            raise InputError(
                f"method {name!r} is offered by `recurring-eval replay` alone; "
                f"choose one of {names}"
            ) from None
        raise
    if method not in usable:
        raise InputError(
            f"method {name!r} does not estimate from a subset; choose auto or one of {names}"
        )
    return method


def _is_compared(name: str) -> bool:
    from recurring_eval.methods.replay_methods import REPLAY_METHODS

    return any(method.name == name for method in REPLAY_METHODS)


AUTO: Final = "auto"
STALE_AFTER: Final = timedelta(days=7)
"""A run this much younger than the newest data of its calibration is flagged."""


def calibration_in_force(
    history: History, benchmark: str, family: str, at: datetime | None = None
) -> CalibrationRecord:
    """Load the latest calibration whose data end before a time, or the latest of all.

    Raises
    ------
    NotEnoughDataError
        If there is none.
    """
    record = latest_calibration(history, benchmark, family, data_before=at)
    if record is not None:
        return record
    when = "" if at is None else f" with data that end before {at:%Y-%m-%d %H:%M} UTC"
    earlier = "" if at is None else " with --as-of a date before that"
    raise NotEnoughDataError(
        f"benchmark {benchmark!r}, family {family!r} has no calibration{when}; "
        f"run `recurring-eval recalibrate`{earlier}"
    )


def calibration_for_partial(
    history: History, benchmark: str, family: str, at: datetime, asked: SubsetRecord
) -> CalibrationRecord:
    """Load the calibration under which a run was asked for a subset.

    It is the one in force when the run started; where that one is missing or
    does not know the subset's questions, the one that chose the subset: the
    start of a run is often known to the day only, and may then seem to lie
    before the subset it was asked for.

    Raises
    ------
    NotEnoughDataError
        If there is neither.
    """
    record = latest_calibration(history, benchmark, family, data_before=at)
    known = set() if record is None else set(record.model.question_ids)
    if asked.calibration_id is not None and not known.issuperset(asked.subset.question_ids):
        return calibration_by_id(history, asked.calibration_id)
    return calibration_in_force(history, benchmark, family, at)


def chosen_method(name: str, *, step_by_step: bool = False) -> Method:
    """Find the method that estimates a run.

    Parameters
    ----------
    name : str
        ``auto`` is the default of the subset methods, or ``hspr`` for questions that were
        asked step by step.
    step_by_step : bool

    Raises
    ------
    InputError
        If it is unknown, or needs something else than the verdicts on what was asked.
    """
    if name == AUTO:
        return HSPR if step_by_step else estimating_method(SUBSET_METHODS[0])
    method = estimating_method(name)
    if step_by_step and not method.adaptive:
        raise InputError(
            f"method {name!r} does not estimate from questions that were asked step by step; "
            f"choose auto or {HSPR.name}"
        )
    return method


def estimate_under(
    view: BenchmarkView,
    calibration: CalibrationRecord,
    verdicts: Verdicts,
    *,
    subset: Subset | None,
    method: Method,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> ScoreEstimate:
    """Estimate a run's full pass rate under a calibration.

    Parameters
    ----------
    view : BenchmarkView
        It sets the level of the intervals.
    calibration : CalibrationRecord
    verdicts : Verdicts
    subset : Subset or None
        What was asked; None for the whole bank.
    method : Method
    asked : ndarray of bool, shape (n,), optional
        What an adaptive method asked, in place of a subset.
    population : ndarray of bool, shape (n,), optional
        Questions the score is the mean of; by default the whole bank.
    """
    stale = verdicts.started_at - calibration.data_end > STALE_AFTER
    return estimate_score(
        method=method,
        model=calibration.model,
        passes=verdicts.passes,
        trials=verdicts.trials,
        subset=subset,
        asked=asked,
        gpirt=calibration.gpirt,
        hspr=calibration.hspr,
        scale=_scale(calibration, verdicts, method, subset=subset, asked=asked),
        level=view.level,
        population=population,
        run_to_run_variance=float(calibration.settings.get("run_to_run_variance", 0.0)),
        extra_flags=(Flag.STALE_CALIBRATION,) if stale else (),
    )


def _scale(
    calibration: CalibrationRecord,
    verdicts: Verdicts,
    method: Method,
    *,
    subset: Subset | None,
    asked: NDArray[np.bool_] | None,
) -> ConformalScale:
    """Residuals that tell of such an estimate: as many questions, chosen in the same way."""
    residuals = [r for r in calibration.residuals if r.method == method.name]
    if not method.adaptive:
        k = calibration.model.n_questions if subset is None else subset.k
        return conformal_scale(residuals, method=method.name, k=k)
    sizes = sorted({r.k for r in residuals})
    if asked is None or not sizes:
        # The residuals are those of questions the method chose itself.
        return NO_RESIDUALS
    n_valid = int((asked & (verdicts.trials > 0)).sum())
    at_most = [k for k in sizes if k <= n_valid]
    return conformal_scale(residuals, method=method.name, k=at_most[-1] if at_most else sizes[0])
