"""From a run's verdicts to an estimate of its full pass rate, with intervals and flags."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.estimators import feasible_range
from recurring_eval.intervals import ConformalScale, HalfWidth, require_level, rerun_half_width
from recurring_eval.methods.evidence import Evidence
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.steps import StepMethod
from recurring_eval.records import Flag, ScoreEstimate, Scores

LEVEL: Final = 0.9
NO_RESIDUALS: Final = ConformalScale(residuals=np.empty(0), model_sd=np.empty(0))


def estimate_score(
    method: FixedMethod | StepMethod,
    evidence: Evidence,
    *,
    scale: ConformalScale = NO_RESIDUALS,
    level: float = LEVEL,
    run_to_run_variance: float = 0.0,
    extra_flags: Sequence[Flag] = (),
    scores: Scores | None = None,
) -> ScoreEstimate:
    """Estimate the full pass rate of one run from its verdicts on the asked questions.

    Parameters
    ----------
    method : FixedMethod or StepMethod
    evidence : Evidence
        Of one run.
    scale : ConformalScale, optional
        Residuals of this method at this k; without any the interval is
        provisional.
    level : float, optional
        Nominal coverage of both intervals.
    run_to_run_variance : float, optional
        Of same-configuration pairs; widens the rerun interval.
    extra_flags : sequence of Flag, optional
        Flags the caller knows of, such as a stale calibration.
    scores : Scores, optional
        The method's scores of the run, where the caller has them already.

    Returns
    -------
    ScoreEstimate
        Inside the feasible range; the observed rate with zero width when all
        of the population was asked.

    Raises
    ------
    InputError
        Without a valid verdict on the asked questions, or where the method needs a subset.
    NotEnoughDataError
        The calibration lacks a model that the method needs.
    """
    require_level(level)
    n_asked, n_valid = int(evidence.n_asked[0]), int(evidence.observed.sum())
    if n_valid == 0:
        raise InputError(
            f"none of the {n_asked} asked questions has a valid verdict;"
            " run them again or see the reasons for missing verdicts"
        )
    low, high = (
        float(end[0])
        for end in feasible_range(evidence.passes, evidence.trials, population=evidence.population)
    )
    if scores is None:
        scores = _scores(method, evidence, exact=low == high)
    model_sd = float(scores.model_sd[0])
    extrapolating = bool(scores.extrapolating[0]) or _outside_the_calibration(evidence)
    pass_rate = low if low == high else min(max(float(scores.pass_rate[0]), low), high)
    half = HalfWidth(value=0.0)
    if low < high:
        half = scale.half_width(
            model_sd,
            level=level,
            pass_rate=pass_rate,
            k=n_valid,
            n=int(evidence.population.sum()),
        )
        if extrapolating:
            # Replayed runs say little about a run unlike them all.
            half = half.at_least(model_sd, level=level)
    rerun = rerun_half_width(
        half.value,
        float(scores.rerun_variance[0]),
        level=level,
        run_to_run_variance=run_to_run_variance,
    )
    found = {
        Flag.EXTRAPOLATING: extrapolating,
        Flag.FEW_VALID: 5 * n_valid < 4 * n_asked,
        Flag.PROVISIONAL_INTERVAL: half.provisional,
        Flag.FEW_RESIDUALS: half.few_residuals,
    }
    return ScoreEstimate(
        pass_rate=pass_rate,
        low=max(low, pass_rate - half.value),
        high=min(high, pass_rate + half.value),
        rerun_low=max(0.0, pass_rate - rerun),
        rerun_high=min(1.0, pass_rate + rerun),
        level=level,
        method=method.name,
        n_asked=n_asked,
        n_valid=n_valid,
        theta=scores.ability[0],
        model_fingerprint=scores.fingerprint,
        flags=tuple(flag for flag in Flag if found.get(flag, False) or flag in extra_flags),
        distribution=None if scores.distribution is None else scores.distribution[0],
        diagnostics=None if scores.diagnostics is None else scores.diagnostics[0],
    )


def _scores(method: FixedMethod | StepMethod, evidence: Evidence, *, exact: bool) -> Scores:
    try:
        return method.score(evidence)
    except NotEnoughDataError:
        if exact:
            # Nothing is left to estimate, so that no further model is needed.
            return evidence.rasch_scores(np.full(1, np.nan))
        raise


def _outside_the_calibration(evidence: Evidence) -> bool:
    """Whether the run's Rasch ability is beyond that of every calibration run.

    A prior around past runs can hide from a richer model how unlike them a run is.
    """
    known = evidence.calibration.rasch.ability
    return not known.min() <= float(evidence.ability[0]) <= known.max()
