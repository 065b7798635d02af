"""From a partial run to an estimate of its full pass rate, with intervals and flags."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.caching import Cache
from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.estimators import GpirtConstants, feasible_range
from recurring_eval.hspr import HsprCalibration
from recurring_eval.intervals import ConformalScale, HalfWidth, require_level, rerun_half_width
from recurring_eval.methods.evidence import Evidence, aligned_weights, gather_evidence
from recurring_eval.methods.method import Method
from recurring_eval.methods.registry import method_named
from recurring_eval.methods.scored_run import score_run
from recurring_eval.records import Flag, ScoreEstimate, Subset

LEVEL: Final = 0.9
NO_RESIDUALS: Final = ConformalScale(residuals=np.empty(0), model_sd=np.empty(0))


def estimate_score(
    *,
    method: Method | str,
    model: RaschModel,
    passes: ArrayLike,
    trials: ArrayLike,
    subset: Subset | None = None,
    asked: NDArray[np.bool_] | None = None,
    gpirt: GpirtConstants | None = None,
    cache: Cache | None = None,
    hspr: HsprCalibration | None = None,
    scale: ConformalScale = NO_RESIDUALS,
    level: float = LEVEL,
    population: NDArray[np.bool_] | None = None,
    run_to_run_variance: float = 0.0,
    extra_flags: Sequence[Flag] = (),
) -> ScoreEstimate:
    """Estimate the full pass rate of one run from its verdicts on the asked questions.

    Parameters
    ----------
    method : Method or str
        How to estimate; its design is that of `subset`.
    model : RaschModel
        n questions.
    passes, trials : array_like of int, shape (n,)
        Verdict counts, aligned with the model's questions. Verdicts outside
        the asked questions are ignored, so that a full run can be given to see
        what the subset would have said.
    subset : Subset, optional
        What was asked; None for the whole bank, or, with a cache method, for
        the questions the cache does not settle.
    asked : ndarray of bool, shape (n,), optional
        What was asked by an adaptive method, in place of a subset.
    gpirt : GpirtConstants, optional
        Needed by the gp-IRT methods.
    cache : Cache, optional
        Needed by the cache methods; same question order as the model.
    hspr : HsprCalibration, optional
        Needed by ``hspr``; same question order as the model.
    scale : ConformalScale, optional
        Residuals of this method at this k; without any the interval is
        provisional.
    level : float, optional
        Nominal coverage of both intervals.
    population : ndarray of bool, shape (n,), optional
        Questions the score is the mean of: the whole bank by default, a full
        run's valid questions in replays and checks.
    run_to_run_variance : float, optional
        Of same-configuration pairs; widens the rerun interval.
    extra_flags : sequence of Flag, optional
        Flags the caller knows of, such as a stale calibration.

    Returns
    -------
    ScoreEstimate
        Inside the feasible range; the observed rate with zero width when all
        of the population was asked.

    Raises
    ------
    InputError
        Without a valid verdict on the asked questions, or when something the
        method needs is absent.
    """
    require_level(level)
    method = method_named(method) if isinstance(method, str) else method
    asked, weights = _asked(method, model, subset, cache, asked)
    evidence = gather_evidence(
        model,
        np.asarray(passes)[np.newaxis],
        np.asarray(trials)[np.newaxis],
        weights=weights,
        asked=asked,
        population=population,
        gpirt=gpirt,
        cache=cache,
    )
    n_asked = int(asked.sum()) if population is None else int((asked & population).sum())
    n_valid = int(evidence.observed.sum())
    if n_valid == 0:
        raise InputError(
            f"none of the {n_asked} asked questions has a valid verdict;"
            " run them again or see the reasons for missing verdicts"
        )
    low, high = (float(end[0]) for end in _feasible(evidence))
    exact = low if low == high else None
    scored = score_run(method, evidence, hspr=hspr, exact=exact)
    pass_rate = exact if exact is not None else min(max(scored.pass_rate, low), high)
    half = HalfWidth(value=0.0)
    if low < high:
        half = scale.half_width(
            scored.model_sd,
            level=level,
            pass_rate=pass_rate,
            k=n_valid,
            n=int(evidence.population.sum()),
        )
        if scored.extrapolating:
            # Replayed runs say little about a run unlike them all.
            half = half.at_least(scored.model_sd, level=level)
    rerun = rerun_half_width(
        half.value,
        scored.rerun_variance,
        level=level,
        run_to_run_variance=run_to_run_variance,
    )
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
        n_reused=_n_reused(method, evidence),
        theta=scored.ability,
        model_fingerprint=scored.fingerprint,
        flags=_flags(n_asked, n_valid, half, extra_flags, extrapolating=scored.extrapolating),
        distribution=scored.distribution,
        diagnostics=scored.diagnostics,
    )


def _asked(
    method: Method,
    model: RaschModel,
    subset: Subset | None,
    cache: Cache | None,
    asked: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    n = model.n_questions
    if method.needs_cache:
        if cache is None:
            raise InputError(f"method {method.name!r} needs a cache; recalibrate to build one")
        if cache.question_ids != model.question_ids:
            raise InputError("the cache and the calibration have different questions")
        return ~cache.cached, np.zeros(n)
    if asked is not None:
        if not method.adaptive:
            raise InputError(f"method {method.name!r} needs the subset that was asked")
        if asked.shape != (n,):
            raise InputError(f"`asked` has shape {asked.shape}; it needs one entry for each of {n}")
        return asked, np.zeros(n)
    if subset is None:
        return np.ones(n, dtype=np.bool_), np.full(n, 1.0 / n)
    weights = aligned_weights(model, subset)
    return weights > 0, weights


def _feasible(evidence: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return feasible_range(evidence.passes, evidence.trials, population=evidence.population)


def _n_reused(method: Method, evidence: Evidence) -> int:
    if not method.needs_cache or evidence.cache is None:
        return 0
    return int((evidence.cache.cached & evidence.population).sum())


def _flags(
    n_asked: int,
    n_valid: int,
    half: HalfWidth,
    extra_flags: Sequence[Flag],
    *,
    extrapolating: bool,
) -> tuple[Flag, ...]:
    found = {
        Flag.EXTRAPOLATING: extrapolating,
        Flag.FEW_VALID: 5 * n_valid < 4 * n_asked,
        Flag.PROVISIONAL_INTERVAL: half.provisional,
        Flag.FEW_RESIDUALS: half.few_residuals,
    }
    return tuple(flag for flag in Flag if found.get(flag, False) or flag in extra_flags)
