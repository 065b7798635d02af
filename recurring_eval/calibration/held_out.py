"""How well a Rasch fit predicts cells that it has not seen."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.newton import Counts, log_likelihood_of
from recurring_eval.calibration.rasch import (
    ABILITY_SD,
    DIFFICULTY_SD,
    canonical_order,
    fit_rasch,
)
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.response_matrix import ResponseMatrix

SHARE: Final = 0.15


def held_out_log_likelihood(
    matrix: ResponseMatrix,
    *,
    rng: np.random.Generator,
    share: float = SHARE,
    ability_sd: float = ABILITY_SD,
    difficulty_sd: float = DIFFICULTY_SD,
) -> float:
    """Mean log likelihood per trial of cells hidden from a Rasch fit.

    Parameters
    ----------
    matrix : ResponseMatrix
        The order of its rows and columns does not matter.
    rng : Generator
        Draws the hidden cells.
    share : float
        Chance that a valid cell is hidden, in (0, 1).
    ability_sd, difficulty_sd : float
        As in `fit_rasch`.

    Returns
    -------
    float
        At most 0; a coin toss has -0.693 on single trials.

    Raises
    ------
    InputError
        `share` is out of range.
    NotEnoughDataError
        Nothing was hidden, or too little was left.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"`share` is {share}; it must lie between 0 and 1")
    rows, columns = canonical_order(matrix)
    hidden = np.empty(matrix.trials.shape, dtype=np.bool_)
    hidden[np.ix_(rows, columns)] = rng.random(matrix.trials.shape) < share
    n_hidden = int(matrix.trials[hidden].sum(dtype=np.int64))
    if n_hidden == 0:
        raise NotEnoughDataError(
            "no verdict was held out; the history is too short to test a fit on it"
        )
    model = fit_rasch(_keep(matrix, ~hidden), ability_sd=ability_sd, difficulty_sd=difficulty_sd)
    unseen = _keep(matrix, hidden)
    order = np.ix_(rows, columns)
    counts = Counts.of(unseen.passes[order], unseen.trials[order])
    total = log_likelihood_of(counts, model.ability[rows], model.difficulty[columns])
    return total / n_hidden


def _keep(matrix: ResponseMatrix, kept: NDArray[np.bool_]) -> ResponseMatrix:
    return ResponseMatrix(
        passes=np.where(kept, matrix.passes, 0),
        trials=np.where(kept, matrix.trials, 0),
        run_ids=matrix.run_ids,
        question_ids=matrix.question_ids,
        started_at=matrix.started_at,
        agents=matrix.agents,
    )
