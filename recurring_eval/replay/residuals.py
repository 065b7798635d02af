"""Residuals of methods on a history's own later half, replayed as production works.

Models see the earlier half of the runs alone, and every later run is estimated from its own
verdicts on the questions a method asks. Runs held out one at a time would have later runs among
those that are left, which a new run never has.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.errors import FitError, NotEnoughDataError
from recurring_eval.estimators import clip_to_feasible
from recurring_eval.hspr.calibration import evenly_spaced
from recurring_eval.methods.calibration import Calibration, CalibrationRuns
from recurring_eval.methods.evidence import aligned_weights, gather_evidence
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.steps import StepMethod
from recurring_eval.records import ReplayResidual, Scores
from recurring_eval.response_matrix import ResponseMatrix

N_DRAWS: Final = 20
"""Subsets drawn per design and k; later runs take them in turn."""

MAX_TARGETS: Final = 20
"""Later runs that a step-by-step method asks; enough for a rank threshold at 90 %, and it bounds
the cost."""


def fixed_residuals(
    matrix: ResponseMatrix,
    k: int,
    methods: Sequence[FixedMethod],
    *,
    rng: np.random.Generator,
) -> list[ReplayResidual]:
    """Residuals of fixed methods at one size.

    What a design leaves to chance, the questions of a random subset or the order of equal
    difficulties, is drawn twenty times and shared out among the later runs, so that the
    residuals do not hang on one draw.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs with enough valid verdicts, in any order; the earlier half is rounded down.
    k : int
    methods : sequence of FixedMethod
        Those whose models the earlier half is too short for are skipped.
    rng : numpy.random.Generator

    Returns
    -------
    list of ReplayResidual
        By method and time; empty while the history is too short, and for k not below the number
        of questions.
    """
    if k >= matrix.n_questions:
        return []
    runs = CalibrationRuns(matrix=matrix.in_canonical_order())
    later = runs.matrix.select_runs(slice(runs.matrix.n_runs // 2, None))
    earlier = runs.earlier_half()
    try:
        rasch = fit_rasch(earlier.matrix)
    except NotEnoughDataError:
        return []
    fitted: dict[str, object] = {}
    for kind in {kind.name: kind for method in methods for kind in method.models}.values():
        try:
            fitted[kind.name] = kind.fit(earlier, rng)
        except NotEnoughDataError:
            continue
    calibration = Calibration(rasch=rasch, fitted=fitted)
    drawn: dict[str, NDArray[np.float64]] = {}
    residuals: list[ReplayResidual] = []
    for method in methods:
        if all(kind.name in fitted for kind in method.models):
            if method.design not in drawn:
                drawn[method.design] = _draw_weights(method, calibration, k, later.n_runs, rng)
            residuals += replay_runs(
                method, later, calibration=calibration, weights=drawn[method.design], k=k
            )
    return residuals


def step_residuals(
    runs: CalibrationRuns,
    ks: Sequence[int],
    method: StepMethod,
    *,
    like: Calibration,
    rng: np.random.Generator,
) -> list[ReplayResidual]:
    """Residuals of a step-by-step method at several sizes.

    Parameters
    ----------
    runs : CalibrationRuns
        Full runs, in any order; the earlier half is rounded down.
    ks : sequence of int
        Numbers of questions; of each run, those below its number of valid verdicts.
    method : StepMethod
    like : Calibration
        Of all runs; gives the settings of the models refitted on the earlier half.
    rng : numpy.random.Generator
        Draws the order of equally good questions.

    Returns
    -------
    list of ReplayResidual
        By k, then in order of time, of at most `MAX_TARGETS` later runs that are spread evenly
        in time, the last one among them; empty where the earlier half has too few runs.
    """
    ordered = runs.in_time_order()
    sizes = sorted({k for k in ks if k < runs.matrix.n_questions})
    n_earlier = runs.matrix.n_runs // 2
    n_later = runs.matrix.n_runs - n_earlier
    try:
        calibration = _refit(ordered.earlier_half(), method, like, rng)
    except (FitError, NotEnoughDataError):
        return []
    if not sizes:
        return []
    chosen = np.array(evenly_spaced(n_later, min(MAX_TARGETS, n_later))) + n_earlier
    targets = ordered.matrix.select_runs(chosen)
    valid = targets.trials > 0
    replay = method.replay_coarsely or method.replay
    replayed = replay(
        calibration,
        targets.passes,
        targets.trials,
        ks=sizes,
        population=valid,
        orders=method.draw_orders(targets.question_ids, targets.n_runs, rng),
    )
    n_valid = valid.sum(axis=1)
    return [
        residual
        for at_k in replayed
        for residual in _residuals(
            method.name, targets, np.flatnonzero(n_valid > at_k.k), at_k.scores, k=at_k.k
        )
    ]


def replay_runs(
    method: FixedMethod,
    runs: ResponseMatrix,
    *,
    calibration: Calibration,
    weights: NDArray[np.float64],
    k: int,
) -> list[ReplayResidual]:
    """Estimate each full run from its own verdicts on the chosen questions.

    Parameters
    ----------
    method : FixedMethod
    runs : ResponseMatrix
        Questions as in `calibration`.
    calibration : Calibration
    weights : ndarray, shape (n,) or (n_runs, n)
        Of the chosen questions (see `aligned_weights`).
    k : int
        Recorded with each residual.

    Returns
    -------
    list of ReplayResidual
        In the order of `runs`, without those that no chosen question was
        answered in.
    """
    evidence = gather_evidence(
        calibration, runs.passes, runs.trials, weights=weights, population=runs.trials > 0
    )
    scores = method.score(evidence)
    estimates = clip_to_feasible(
        scores.pass_rate, evidence.passes, evidence.trials, population=evidence.population
    )
    rows = np.flatnonzero(evidence.observed.any(axis=1))
    return _residuals(method.name, runs, rows, replace(scores, pass_rate=estimates), k=k)


def _residuals(
    method: str, runs: ResponseMatrix, rows: NDArray[np.intp], scores: Scores, *, k: int
) -> list[ReplayResidual]:
    """Compare the scores of some of the runs with what these scored in full."""
    truth = runs.pass_rates()
    return [
        ReplayResidual(
            run_id=runs.run_ids[row],
            method=method,
            k=k,
            estimate=float(scores.pass_rate[row]),
            full_pass_rate=float(truth[row]),
            model_sd=float(scores.model_sd[row]),
        )
        for row in rows
    ]


def _refit(
    earlier: CalibrationRuns, method: StepMethod, like: Calibration, rng: np.random.Generator
) -> Calibration:
    """Fit what the method has in `like` on the earlier half, with the same settings."""
    fitted = {
        kind.name: kind.refit(earlier, model, rng)
        for kind in method.models
        if (model := like.get(kind)) is not None
    }
    return Calibration(rasch=fit_rasch(earlier.matrix), fitted=fitted)


def _draw_weights(
    method: FixedMethod, calibration: Calibration, k: int, n_runs: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Weights for each run, shape (n_runs, n), from a few subsets in turn."""
    rasch = calibration.rasch
    draws = [
        aligned_weights(rasch, method.choose(rasch, "", k, rng=rng))
        for _ in range(min(N_DRAWS, n_runs))
    ]
    return np.stack(draws)[np.arange(n_runs) % len(draws)]
