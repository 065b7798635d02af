"""Multidimensional 2PL model of a history of runs: joint posterior mode."""

import numpy as np
from numpy.typing import ArrayLike

from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.calibration.mirt_newton import Mode, maximise
from recurring_eval.calibration.mirt_objective import Objective
from recurring_eval.calibration.mirt_orientation import orientation
from recurring_eval.calibration.mirt_start import factor_start
from recurring_eval.calibration.rasch import (
    DIFFICULTY_SD,
    PRIOR_PRECISION,
    PRIOR_RUNS,
    SD_RANGE,
    canonical_order,
)
from recurring_eval.errors import FitError, InputError, NotEnoughDataError
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix


def fit_mirt(
    matrix: ResponseMatrix,
    *,
    dimensions: int,
    discrimination_sd: float,
    difficulty_sd: float = DIFFICULTY_SD,
    tolerance: float = 1e-4,
    max_iterations: int = 500,
    held_out_log_likelihood: float | None = None,
) -> MirtModel:
    r"""Joint posterior mode of abilities, discriminations and difficulties.

    Maximises the binomial likelihood of :math:`\sigma(\alpha_j^T\theta_i - \beta_j)`
    over the valid cells with priors :math:`\theta_i \sim N(0, I)`,
    :math:`\alpha_j \sim N(0, s_\alpha^2 I)` and :math:`\beta_j \sim N(0, s_\beta^2)`,
    by Newton steps from a singular value decomposition. The objective is not
    concave, but with these priors it is a factored nuclear norm penalty, and random
    starts all end in the same mode. All of its rotations fit equally well;
    `MirtModel` says which is returned.

    Parameters
    ----------
    matrix : ResponseMatrix
        Runs to calibrate on. The order of rows and columns does not change a
        single bit of the result.
    dimensions : int
        Number of abilities, d.
    discrimination_sd, difficulty_sd : float
        Standard deviations of the priors, in logits.
    tolerance : float
        The fit ends when the gradient, in units of the parameters' posterior
        standard deviations, is no longer than this.
    max_iterations : int
    held_out_log_likelihood : float, optional
        Recorded in the model when it was measured.

    Returns
    -------
    MirtModel
        Questions and runs in the order of `matrix`. `converged` is False when
        the iterations ran out or rounding stopped them above the tolerance.

    Raises
    ------
    InputError
        A setting is not acceptable.
    NotEnoughDataError
        Fewer than two runs or questions, or fewer than `dimensions`, have a verdict.
    FitError
        The parameters are not finite.
    """
    _check_settings(dimensions, discrimination_sd, difficulty_sd, tolerance, max_iterations)
    _check_size(matrix, dimensions)
    rows, columns = canonical_order(matrix)
    passes, trials = matrix.passes[np.ix_(rows, columns)], matrix.trials[np.ix_(rows, columns)]
    objective = Objective.of(
        passes,
        trials,
        dimensions=dimensions,
        discrimination_sd=discrimination_sd,
        difficulty_sd=difficulty_sd,
    )
    with one_thread():
        mode = posterior_mode(objective, tolerance=tolerance, max_iterations=max_iterations)
        scores = matrix.pass_rates()[rows]
        rotation = orientation(mode.point.runs, mode.point.slopes, scores)
        turned = mode.point.runs @ rotation
        questions = np.column_stack([mode.point.slopes @ rotation, mode.point.questions[:, -1]])
        point = objective.at(turned, questions)
    answered = (trials > 0).any(axis=1)
    ability = np.empty_like(turned)
    by_question = np.empty_like(questions)
    ability[rows] = turned
    by_question[columns] = questions
    return MirtModel(
        question_ids=matrix.question_ids,
        discrimination=by_question[:, :-1],
        difficulty=by_question[:, -1],
        run_ids=matrix.run_ids,
        ability=ability,
        n_responses=matrix.trials.sum(axis=0, dtype=np.int64),
        prior_mean=turned[answered][-PRIOR_RUNS:].mean(axis=0),
        prior_precision=PRIOR_PRECISION,
        discrimination_sd=discrimination_sd,
        log_posterior=point.log_posterior,
        log_likelihood=point.log_likelihood,
        held_out_log_likelihood=held_out_log_likelihood,
        converged=mode.converged,
        n_iterations=mode.n_iterations,
    )


def mirt_log_posterior(
    matrix: ResponseMatrix,
    ability: ArrayLike,
    discrimination: ArrayLike,
    difficulty: ArrayLike,
    *,
    discrimination_sd: float,
    difficulty_sd: float = DIFFICULTY_SD,
) -> float:
    """Objective of `fit_mirt` at any parameters, without its constants.

    Parameters
    ----------
    matrix : ResponseMatrix
    ability : array_like, shape (m, d)
    discrimination : array_like, shape (n, d)
    difficulty : array_like, shape (n,)
    discrimination_sd, difficulty_sd : float

    Returns
    -------
    float
        Log likelihood less half the squared parameters over their prior variances.
    """
    theta = np.asarray(ability, dtype=np.float64)
    alpha = np.asarray(discrimination, dtype=np.float64)
    beta = np.asarray(difficulty, dtype=np.float64)
    dimensions = theta.shape[-1] if theta.ndim else 0
    fits = theta.shape == (matrix.n_runs, dimensions) and beta.shape == (matrix.n_questions,)
    if not fits or alpha.shape != (matrix.n_questions, dimensions):
        raise InputError(
            f"`ability` {theta.shape}, `discrimination` {alpha.shape} and `difficulty` "
            f"{beta.shape} do not fit {matrix.n_runs} runs x {matrix.n_questions} questions"
        )
    objective = Objective.of(
        matrix.passes,
        matrix.trials,
        dimensions=dimensions,
        discrimination_sd=discrimination_sd,
        difficulty_sd=difficulty_sd,
    )
    return objective.at(theta, np.column_stack([alpha, beta])).log_posterior


def posterior_mode(objective: Objective, *, tolerance: float, max_iterations: int) -> Mode:
    """Mode reached from the factor start, in whatever rotation it comes."""
    start = factor_start(objective.passes, objective.trials, len(objective.question_precision) - 1)
    mode = maximise(objective, start, tolerance=tolerance, max_iterations=max_iterations)
    if not (np.isfinite(mode.point.runs).all() and np.isfinite(mode.point.questions).all()):
        raise FitError(
            "the multidimensional fit ran into non-finite parameters; tighten the priors"
        )
    return mode


def largest_dimension(matrix: ResponseMatrix) -> int:
    """Count the runs or the questions with a verdict, whichever are fewer."""
    valid = matrix.trials > 0
    return int(min(valid.any(axis=1).sum(), valid.any(axis=0).sum()))


def _check_settings(
    dimensions: int,
    discrimination_sd: float,
    difficulty_sd: float,
    tolerance: float,
    max_iterations: int,
) -> None:
    scales = {"discrimination_sd": discrimination_sd, "difficulty_sd": difficulty_sd}
    for name, value in scales.items():
        if not SD_RANGE[0] <= value <= SD_RANGE[1]:
            raise InputError(
                f"`{name}` is {value}; it must lie between {SD_RANGE[0]:g} and {SD_RANGE[1]:g}"
            )
    if not tolerance > 0:
        raise InputError(f"`tolerance` is {tolerance}; it must be a positive number")
    for name, count in {"dimensions": dimensions, "max_iterations": max_iterations}.items():
        if count < 1:
            raise InputError(f"`{name}` is {count}; it must be at least 1")


def _check_size(matrix: ResponseMatrix, dimensions: int) -> None:
    size = largest_dimension(matrix)
    if size < max(2, dimensions):
        raise NotEnoughDataError(
            f"only {size} runs or questions have a verdict; a fit in {dimensions} dimensions "
            f"needs at least {max(2, dimensions)} of each, import more full runs"
        )
