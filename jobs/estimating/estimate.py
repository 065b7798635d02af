"""Estimates under a stored calibration, and the method that makes them."""

from datetime import timedelta
from typing import Final

import numpy as np

from jobs.app.benchmark_view import BenchmarkView
from jobs.estimating.asked import Asked, StepByStep
from recurring_eval.errors import InputError
from recurring_eval.intervals import ConformalScale, conformal_scale
from recurring_eval.methods.estimate import NO_RESIDUALS, estimate_score
from recurring_eval.methods.evidence import aligned_weights, gather_evidence
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.registry import (
    DEFAULT_FIXED,
    DEFAULT_STEPS,
    live_methods,
    method_named,
)
from recurring_eval.methods.replayed import ReplayMethod
from recurring_eval.methods.steps import StepMethod
from recurring_eval.records import Flag, ScoreEstimate, Scores
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import StoredCalibration
from storage.calibrations.subsets import SubsetRecord

AUTO: Final = "auto"
STALE_AFTER: Final = timedelta(days=7)
"""A run this much younger than the newest data of its calibration is flagged."""


def chosen_method(name: str, asked: Asked) -> FixedMethod | StepMethod:
    """Find the method that estimates a run.

    Parameters
    ----------
    name : str
        ``auto`` is the method that chose the run's questions step by step, or the default of
        the fixed methods.
    asked : Asked

    Raises
    ------
    InputError
        If it is unknown, there for replays alone, or needs a subset that was not asked.
    """
    step_by_step = isinstance(asked, StepByStep)
    if name == AUTO:
        if not isinstance(asked, StepByStep):
            return DEFAULT_FIXED
        name = asked.chosen_by or DEFAULT_STEPS.name
    method = live_method(name)
    if step_by_step and isinstance(method, FixedMethod):
        steps = [m.name for m in live_methods() if isinstance(m, StepMethod)]
        raise InputError(
            f"method {name!r} does not estimate from questions that were asked step by step; "
            f"choose auto or one of {', '.join(steps)}"
        )
    return method


def asking_method(name: str) -> StepMethod:
    """Find a method that asks step by step.

    Raises
    ------
    InputError
        If it is unknown, chooses its questions at once, or is there for replays alone.
    """
    steps = [method for method in live_methods() if isinstance(method, StepMethod)]
    for method in steps:
        if name == method.name or name in method.aliases:
            return method
    raise InputError(
        f"method {name!r} does not ask step by step; those that do: "
        f"{', '.join(method.name for method in steps)} "
        "(fixed questions come from `recurring-eval subset`)"
    )


def live_method(name: str) -> FixedMethod | StepMethod:
    """Find a method that estimates runs.

    Raises
    ------
    InputError
        If it is unknown, or there for replays alone.
    """
    method = method_named(name)
    if isinstance(method, ReplayMethod):
        raise InputError(
            f"method {name!r} is offered by `recurring-eval replay` alone; choose one of "
            f"{', '.join(m.name for m in live_methods())}"
        )
    return method


def estimate_under(
    view: BenchmarkView,
    calibration: StoredCalibration,
    run: ResponseMatrix,
    asked: Asked,
    method: FixedMethod | StepMethod,
    *,
    valid_only: bool = False,
    scores: Scores | None = None,
) -> ScoreEstimate:
    """Estimate a run's full pass rate under a calibration.

    Parameters
    ----------
    view : BenchmarkView
        It sets the level of the intervals.
    calibration : StoredCalibration
        With the models that the method needs.
    run : ResponseMatrix
        Its one row; verdicts on other than the asked questions are not used.
    asked : Asked
    method : FixedMethod or StepMethod
    valid_only : bool
        Whether the score is the mean of the run's valid questions, or of the whole bank.
    scores : Scores, optional
        The method's scores of the run, where the caller has them already.
    """
    fitted, info = calibration.fitted, calibration.info
    stale = run.started_at[0] - info.data_end > STALE_AFTER
    mask = None
    if isinstance(asked, StepByStep):
        mask = np.array([question in asked.question_ids for question in fitted.question_ids])
    subset = asked.subset if isinstance(asked, SubsetRecord) else None
    evidence = gather_evidence(
        fitted,
        run.passes,
        run.trials,
        weights=None if subset is None else aligned_weights(fitted.rasch, subset),
        asked=mask,
        population=run.trials[0] > 0 if valid_only else None,
    )
    return estimate_score(
        method,
        evidence,
        scale=_scale(calibration, method, asked, n_valid=int(evidence.observed.sum())),
        level=view.level,
        run_to_run_variance=float(info.settings.get("run_to_run_variance", 0.0)),
        extra_flags=(Flag.STALE_CALIBRATION,) if stale else (),
        scores=scores,
    )


def _scale(
    calibration: StoredCalibration,
    method: FixedMethod | StepMethod,
    asked: Asked,
    *,
    n_valid: int,
) -> ConformalScale:
    """Residuals of such an estimate: of as many questions, chosen in the same way."""
    if isinstance(method, FixedMethod):
        n = calibration.fitted.n_questions
        k = asked.subset.k if isinstance(asked, SubsetRecord) else n
        return conformal_scale(calibration.residuals, method=method.name, k=k)
    sizes = sorted({r.k for r in calibration.residuals if r.method == method.name})
    if not isinstance(asked, StepByStep) or asked.chosen_by not in ("", method.name) or not sizes:
        # The residuals are those of questions the method chose itself.
        return NO_RESIDUALS
    at_most = [k for k in sizes if k <= n_valid]
    return conformal_scale(
        calibration.residuals, method=method.name, k=at_most[-1] if at_most else sizes[0]
    )
