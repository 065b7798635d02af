"""Choosing the number of dimensions and the discriminations' scale on held-out cells."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.mirt import fit_mirt, largest_dimension, posterior_mode
from recurring_eval.calibration.mirt_newton import Floats, Objective
from recurring_eval.calibration.models import MirtModel
from recurring_eval.calibration.rasch import DIFFICULTY_SD
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix

DIMENSIONS: Final = (2, 5, 10, 15)
DISCRIMINATION_SDS: Final = (0.15, 0.25, 0.5)

HELD_OUT_SHARE: Final = 0.15

TOLERANCE: Final = 0.1
"""Of the candidates' fits. A fifth of it moves held-out likelihoods by up to .001, below a
shortfall's standard error of .0016, and chooses the same (simulator, seeds 1 and 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirtCandidate:
    """One setting and how well it predicts cells it was not fitted on.

    Attributes
    ----------
    dimensions : int
    discrimination_sd : float
    held_out_log_likelihood : float
        Mean per held-out trial.
    shortfall : float
        How much less that is than the best candidate's; 0 for the best.
    shortfall_error : float
        Standard error of the shortfall, paired over the held-out cells.
    """

    dimensions: int
    discrimination_sd: float
    held_out_log_likelihood: float
    shortfall: float
    shortfall_error: float


def select_mirt(
    matrix: ResponseMatrix,
    *,
    dimensions: Sequence[int] = DIMENSIONS,
    discrimination_sds: Sequence[float] = DISCRIMINATION_SDS,
    n_threads: int = 1,
    rng: np.random.Generator,
) -> MirtModel:
    """Fit with the setting that best predicts a fixed 15 % of the observed cells.

    Dimensions and scale are chosen jointly, because the best number of
    dimensions depends on the scale; `preferred` decides near ties.
    The chosen setting is then fitted on all cells.

    Parameters
    ----------
    matrix : ResponseMatrix
    dimensions : sequence of int
        Candidates; those larger than the number of runs or questions are left out.
    discrimination_sds : sequence of float
        Candidates for the discriminations' prior standard deviation.
    n_threads : int
        Candidates fitted at a time; the result is the same for every number.
    rng : numpy.random.Generator
        Draws the held-out cells, in an order that does not depend on the matrix's.

    Returns
    -------
    MirtModel
        With its `held_out_log_likelihood`.

    Raises
    ------
    InputError
        There is no candidate.
    NotEnoughDataError
        No candidate can be fitted on so few runs or questions.
    """
    candidates = compare_settings(
        matrix,
        dimensions=dimensions,
        discrimination_sds=discrimination_sds,
        n_threads=n_threads,
        rng=rng,
    )
    best = preferred(candidates)
    return fit_mirt(
        matrix,
        dimensions=best.dimensions,
        discrimination_sd=best.discrimination_sd,
        held_out_log_likelihood=best.held_out_log_likelihood,
    )


def preferred(candidates: Sequence[MirtCandidate]) -> MirtCandidate:
    """Choose the dimensions that predict best, and their prior where it hardly matters.

    Among candidates with as many dimensions as the best, of those within one standard error
    of it, the widest prior of the discriminations wins: discriminations that are shrunk too
    far fail where it matters, on runs abler than those calibrated on. A near tie between
    dimensions is not decided for the fewest: that cost dearly where it was one ability
    short (3.0 against 1.6 pp at k = 100, simulator, seed 1, the last 210 calibration runs).
    """
    best = min(candidates, key=lambda candidate: candidate.shortfall)
    near = [
        candidate
        for candidate in candidates
        if candidate.dimensions == best.dimensions
        and candidate.shortfall <= candidate.shortfall_error
    ]
    return max(near, key=lambda candidate: candidate.discrimination_sd)


def compare_settings(
    matrix: ResponseMatrix,
    *,
    dimensions: Sequence[int] = DIMENSIONS,
    discrimination_sds: Sequence[float] = DISCRIMINATION_SDS,
    n_threads: int = 1,
    rng: np.random.Generator,
) -> tuple[MirtCandidate, ...]:
    """Held-out log likelihood of every setting that `select_mirt` chooses from.

    All settings are fitted on the same cells and judged on the same others.
    """
    if not dimensions or not discrimination_sds:
        raise InputError("`dimensions` and `discrimination_sds` need at least one candidate each")
    possible = [d for d in dimensions if d <= largest_dimension(matrix)]
    if not possible or largest_dimension(matrix) < 2:
        raise NotEnoughDataError(
            f"only {largest_dimension(matrix)} runs or questions have a verdict, fewer than the "
            f"{max(2, min(dimensions))} a multidimensional fit needs; import more full runs"
        )
    rows, columns = matrix.canonical_order()
    passes, trials = matrix.passes[np.ix_(rows, columns)], matrix.trials[np.ix_(rows, columns)]
    held_out = _held_out_cells(trials, rng)

    def judge(d: int, discrimination_sd: float) -> Floats:
        objective = Objective.of(
            np.where(held_out, 0, passes),
            np.where(held_out, 0, trials),
            dimensions=d,
            discrimination_sd=discrimination_sd,
            difficulty_sd=DIFFICULTY_SD,
        )
        mode = posterior_mode(objective, tolerance=TOLERANCE)
        x = mode.point.runs @ mode.point.slopes.T - mode.point.questions[:, -1]
        return np.asarray((passes * x - trials * np.logaddexp(0.0, x))[held_out])

    grid = [(d, discrimination_sd) for d in possible for discrimination_sd in discrimination_sds]
    with one_thread(), ThreadPoolExecutor(max_workers=n_threads) as pool:
        by_cell = list(pool.map(lambda setting: judge(*setting), grid))
    return _candidates(grid, by_cell, int(trials[held_out].sum(dtype=np.int64)))


def _candidates(
    grid: Sequence[tuple[int, float]], by_cell: Sequence[Floats], n_trials: int
) -> tuple[MirtCandidate, ...]:
    """Compare log likelihoods of the same held-out cells, one array per setting."""
    best = max(by_cell, key=lambda cells: float(cells.sum()))
    return tuple(
        MirtCandidate(
            dimensions=d,
            discrimination_sd=discrimination_sd,
            held_out_log_likelihood=float(cells.sum()) / n_trials,
            shortfall=float((best - cells).sum()) / n_trials,
            shortfall_error=float((best - cells).std()) * best.size**0.5 / n_trials,
        )
        for (d, discrimination_sd), cells in zip(grid, by_cell, strict=True)
    )


def _held_out_cells(trials: NDArray[np.int16], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a fixed share of the cells with a verdict, at least one."""
    observed = np.flatnonzero(trials)
    n_held_out = max(1, round(HELD_OUT_SHARE * observed.size))
    held_out = np.zeros(trials.size, dtype=np.bool_)
    held_out[rng.choice(observed, size=n_held_out, replace=False)] = True
    return held_out.reshape(trials.shape)
