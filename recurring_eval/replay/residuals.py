"""Residuals of methods on a history's own later half, replayed as production works."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.estimators import (
    GpirtConstants,
    clip_to_feasible,
    fit_gpirt_constants,
)
from recurring_eval.intervals import NEWEST_RESIDUALS, ConformalScale
from recurring_eval.methods import Method, aligned_weights, gather_evidence, method_named
from recurring_eval.response_matrix import ResponseMatrix

N_DRAWS: Final = 20
"""Subsets drawn per design and k; later runs take them in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResidual:
    """What a method would have said of one run, and what the run's full score was.

    Attributes
    ----------
    run_id, method : str
    k : int
        Questions asked.
    estimate, full_pass_rate : float
        Fractions; the score is the mean over the run's valid questions.
    error : float
        `estimate` less `full_pass_rate`.
    model_sd : float
        The model's standard deviation of the estimate.
    """

    run_id: str
    method: str
    k: int
    estimate: float
    full_pass_rate: float
    error: float
    model_sd: float


def split_residuals(
    matrix: ResponseMatrix,
    ks: Sequence[int],
    methods: Sequence[Method | str],
    *,
    rng: np.random.Generator,
) -> list[ReplayResidual]:
    """Calibrate on the earlier half of the runs and estimate each later one.

    Model, gp-IRT constants and subsets see the earlier half (rounded down)
    alone. What a design leaves to chance, the questions of a random subset or
    the order of equal difficulties, is drawn twenty times and shared out among
    the later runs, so that the residuals do not hang on one draw.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs with enough valid verdicts, in any order.
    ks : sequence of int
        Sizes; those not below the number of questions are skipped.
    methods : sequence of Method or str
        Methods whose questions are not an outcome; others, and gp-IRT ones
        while the earlier half is too short for its constants, are skipped.
    rng : numpy.random.Generator

    Returns
    -------
    list of ReplayResidual
        By k, method and time; empty while the history is too short.
    """
    history = matrix.in_canonical_order()
    half = history.n_runs // 2
    earlier, later = history.select_runs(slice(None, half)), history.select_runs(slice(half, None))
    try:
        model = fit_rasch(earlier)
    except NotEnoughDataError:
        return []
    gpirt = _constants(earlier, rng)
    chosen = [method_named(m) if isinstance(m, str) else m for m in methods]
    residuals: list[ReplayResidual] = []
    for k in ks:
        if k >= history.n_questions:
            continue
        drawn: dict[str, NDArray[np.float64]] = {}
        for method in chosen:
            if method.choose is None or (method.needs_gpirt and gpirt is None):
                continue
            if method.design not in drawn:
                drawn[method.design] = _draw_weights(method, model, k, later.n_runs, rng)
            residuals += replay_runs(
                method, later, model=model, weights=drawn[method.design], k=k, gpirt=gpirt
            )
    return residuals


def replay_runs(
    method: Method,
    runs: ResponseMatrix,
    *,
    model: RaschModel,
    weights: NDArray[np.float64],
    k: int,
    gpirt: GpirtConstants | None = None,
) -> list[ReplayResidual]:
    """Estimate each full run from its own verdicts on the chosen questions.

    Parameters
    ----------
    method : Method
    runs : ResponseMatrix
        Questions as in `model`.
    model : RaschModel
    weights : ndarray, shape (n,) or (n_runs, n)
        Of the chosen questions (see `aligned_weights`).
    k : int
        Recorded with each residual.
    gpirt : GpirtConstants, optional

    Returns
    -------
    list of ReplayResidual
        In the order of `runs`, without those that no chosen question was
        answered in.
    """
    valid = runs.trials > 0
    evidence = gather_evidence(
        model, runs.passes, runs.trials, weights=weights, population=valid, gpirt=gpirt
    )
    estimates = clip_to_feasible(
        method.scores(evidence), evidence.passes, evidence.trials, population=evidence.population
    )
    model_sd = evidence.variance().model_sd
    truth = runs.pass_rates()
    return [
        ReplayResidual(
            run_id=runs.run_ids[i],
            method=method.name,
            k=k,
            estimate=float(estimates[i]),
            full_pass_rate=float(truth[i]),
            error=float(estimates[i] - truth[i]),
            model_sd=float(model_sd[i]),
        )
        for i in np.flatnonzero(evidence.observed.any(axis=1))
    ]


def conformal_scale(
    residuals: Sequence[ReplayResidual], *, method: str, k: int, newest: int = NEWEST_RESIDUALS
) -> ConformalScale:
    """Scale for the intervals of one method and k from its newest residuals.

    Parameters
    ----------
    residuals : sequence of ReplayResidual
        Oldest first, of any methods and sizes.
    method : str
    k : int
    newest : int, optional
    """
    mine = [r for r in residuals if r.method == method and r.k == k][-newest:]
    return ConformalScale(
        residuals=np.array([r.error for r in mine]), model_sd=np.array([r.model_sd for r in mine])
    )


def _constants(earlier: ResponseMatrix, rng: np.random.Generator) -> GpirtConstants | None:
    try:
        return fit_gpirt_constants(earlier, rng=rng)
    except NotEnoughDataError:
        return None


def _draw_weights(
    method: Method, model: RaschModel, k: int, n_runs: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Weights for each run, shape (n_runs, n), from a few subsets in turn."""
    if method.choose is None:
        raise ValueError(f"method {method.name!r} does not choose a given number of questions")
    draws = [
        aligned_weights(model, method.choose(model, "", k, rng=rng))
        for _ in range(min(N_DRAWS, n_runs))
    ]
    return np.stack(draws)[np.arange(n_runs) % len(draws)]
