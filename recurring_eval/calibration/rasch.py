"""The Rasch model's fit on a history, and its likelihood of held-out cells."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.calibration.newton import Counts, log_likelihood_of, maximise_posterior
from recurring_eval.errors import FitError, InputError, NotEnoughDataError
from recurring_eval.response_matrix import ResponseMatrix

ABILITY_SD: Final = 1.0
DIFFICULTY_SD: Final = 3.0

SD_RANGE: Final = (1e-3, 1e3)
TOLERANCE: Final = 1e-10
"""The fit ends when no parameter moves by more logits than this."""

MAX_ITERATIONS: Final = 100

PRIOR_RUNS: Final = 20
"""The ability of a new run is expected near the mean of this many recent runs."""

PRIOR_PRECISION: Final = 0.05
"""Weak on purpose: a tight prior hides that an agent has improved."""


def fit_rasch(
    matrix: ResponseMatrix,
    *,
    ability_sd: float = ABILITY_SD,
    difficulty_sd: float = DIFFICULTY_SD,
) -> RaschModel:
    r"""Joint posterior mode of abilities and difficulties.

    Maximises the binomial likelihood of :math:`\sigma(\theta_i - \beta_j)` over
    the valid cells with priors :math:`\theta_i \sim N(0, s_\theta^2)` and
    :math:`\beta_j \sim N(0, s_\beta^2)`. The objective is strictly concave, so
    the mode is unique and finite for any data, all-pass and all-fail rows and
    columns included. A run or question without a verdict keeps its prior, 0.

    Parameters
    ----------
    matrix : ResponseMatrix
        Runs to calibrate on. The order of rows and columns does not change a
        single bit of the result.
    ability_sd, difficulty_sd : float
        Standard deviations of the priors, in logits.

    Returns
    -------
    RaschModel
        Questions and runs in the order of `matrix`; its ability prior is the
        mean over the 20 most recent runs with a verdict, by start time.

    Raises
    ------
    InputError
        A setting is out of range.
    NotEnoughDataError
        Fewer than two runs or two questions have a verdict.
    FitError
        The iteration did not converge.
    """
    check_sds({"ability_sd": ability_sd, "difficulty_sd": difficulty_sd})
    _check_size(matrix)
    rows, columns = matrix.canonical_order()
    counts = Counts.of(matrix.passes[np.ix_(rows, columns)], matrix.trials[np.ix_(rows, columns)])
    mode = maximise_posterior(
        counts,
        row_precision=1.0 / ability_sd**2,
        column_precision=1.0 / difficulty_sd**2,
        tolerance=TOLERANCE,
        max_iterations=MAX_ITERATIONS,
    )
    if not mode.converged:
        raise FitError(
            f"the Rasch fit of {matrix.n_runs} runs x {matrix.n_questions} questions still moves "
            f"by {mode.last_step:.2g} logits after {mode.n_iterations} iterations; "
            "tighten the priors"
        )
    answered = counts.trials.any(axis=1)
    ability = np.empty(matrix.n_runs)
    difficulty = np.empty(matrix.n_questions)
    ability[rows] = mode.row
    difficulty[columns] = mode.column
    return RaschModel(
        question_ids=matrix.question_ids,
        difficulty=difficulty,
        run_ids=matrix.run_ids,
        ability=ability,
        n_responses=matrix.trials.sum(axis=0, dtype=np.int64),
        prior_mean=float(mode.row[answered][-PRIOR_RUNS:].mean()),
        prior_precision=PRIOR_PRECISION,
        log_posterior=mode.log_posterior,
        log_likelihood=mode.log_likelihood,
        converged=True,
        n_iterations=mode.n_iterations,
    )


def check_sds(sds: Mapping[str, float]) -> None:
    """Refuse prior standard deviations that no fit can use.

    Raises
    ------
    InputError
        Naming the setting.
    """
    for name, value in sds.items():
        if not SD_RANGE[0] <= value <= SD_RANGE[1]:
            raise InputError(
                f"`{name}` is {value}; it must lie between {SD_RANGE[0]:g} and {SD_RANGE[1]:g}"
            )


def _check_size(matrix: ResponseMatrix) -> None:
    valid = matrix.trials > 0
    n_runs = int(valid.any(axis=1).sum())
    n_questions = int(valid.any(axis=0).sum())
    if n_runs < 2 or n_questions < 2:
        raise NotEnoughDataError(
            f"only {n_runs} runs and {n_questions} questions have a verdict; "
            "a Rasch fit needs at least 2 of each, import more full runs"
        )


HELD_OUT_SHARE: Final = 0.15


def held_out_log_likelihood(
    matrix: ResponseMatrix,
    *,
    rng: np.random.Generator,
) -> float:
    """Mean log likelihood per trial of cells hidden from a Rasch fit.

    Parameters
    ----------
    matrix : ResponseMatrix
        The order of its rows and columns does not matter.
    rng : Generator
        Draws the hidden cells, each with a chance of 15 %.

    Returns
    -------
    float
        At most 0; a coin toss has -0.693 on single trials.

    Raises
    ------
    NotEnoughDataError
        Nothing was hidden, or too little was left.
    """
    rows, columns = matrix.canonical_order()
    hidden = np.empty(matrix.trials.shape, dtype=np.bool_)
    hidden[np.ix_(rows, columns)] = rng.random(matrix.trials.shape) < HELD_OUT_SHARE
    n_hidden = int(matrix.trials[hidden].sum(dtype=np.int64))
    if n_hidden == 0:
        raise NotEnoughDataError(
            "no verdict was held out; the history is too short to test a fit on it"
        )
    model = fit_rasch(_keep(matrix, ~hidden))
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
