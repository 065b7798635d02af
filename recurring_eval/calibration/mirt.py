r"""Fit of the multidimensional 2PL, :math:`\sigma(\alpha_j^T\theta_i - \beta_j)`.

It starts from a factorisation of working logits and ends in principal axes that point upwards.
"""

from typing import Final

import numpy as np
from scipy import linalg

from recurring_eval.calibration.mirt_newton import Floats, Mode, Objective, Pair, maximise
from recurring_eval.calibration.models import MirtModel
from recurring_eval.calibration.rasch import (
    DIFFICULTY_SD,
    PRIOR_PRECISION,
    PRIOR_RUNS,
    check_sds,
)
from recurring_eval.errors import FitError, InputError, NotEnoughDataError
from recurring_eval.irt import sigmoid, smoothed_logit
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates

TOLERANCE: Final = 1e-4
"""The fit ends when the gradient, in units of the parameters' posterior standard deviations, is
no longer than this."""

MAX_ITERATIONS: Final = 500
SMALLEST_WEIGHT: Final = 0.05
"""Floor of p(1 - p), so that one surprising verdict does not become a factor of its own."""


def factor_start(passes: Floats, trials: Floats, dimensions: int) -> Pair:
    """Leading singular vectors of the logits that one Newton step from the margins implies.

    The margins (smoothed pass rates of runs and questions) give each cell a
    probability p; its working logit is that probability's plus ``(y - p) / p(1 - p)``.
    Missing cells keep the margins' logit. Runs and questions without a verdict
    start, and stay, at zero.
    """
    run_logit = smoothed_logit(passes.sum(axis=1), trials.sum(axis=1))
    run_logit -= smoothed_logit(passes.sum(), trials.sum())
    question_logit = smoothed_logit(passes.sum(axis=0), trials.sum(axis=0))
    rate = outcome_rates(passes, trials)
    p = sigmoid(np.add.outer(run_logit, question_logit))
    surprise = np.where(trials > 0, rate - p, 0.0) / np.maximum(p * (1.0 - p), SMALLEST_WEIGHT)
    working = run_logit[:, np.newaxis] + surprise
    answered_runs = np.asarray(trials.any(axis=1))
    answered_questions = np.asarray(trials.any(axis=0))
    working *= np.outer(answered_runs, answered_questions)
    ability, slopes = _leading_factors(working, dimensions)
    ability *= answered_runs[:, np.newaxis]  # rounding leaves specks in an empty row
    return Pair(runs=ability, questions=np.column_stack([slopes, -question_logit]))


def _leading_factors(working: Floats, dimensions: int) -> tuple[Floats, Floats]:
    """Best approximation ``ability @ slopes.T`` with abilities of unit mean square."""
    m, n = working.shape
    if m > n:
        slopes, ability = _leading_factors(working.T, dimensions)
        scale = np.linalg.norm(ability, axis=0) / np.sqrt(m)
        scale = np.where(scale > 0, scale, 1.0)
        return ability / scale, slopes * scale
    _, vectors = linalg.eigh(
        working @ working.T, subset_by_index=[m - dimensions, m - 1], check_finite=False
    )
    ability = vectors[:, ::-1] * np.sqrt(m)
    return ability, working.T @ ability / m


CLEARANCE: Final = 1e-6
"""How far past zero a rotation goes, relatively, so that rounding cannot undo it."""


def orientation(ability: Floats, slopes: Floats, scores: Floats) -> Floats:
    """Rotation to principal axes that point upwards, (d, d).

    ``ability @ rotation`` and ``slopes @ rotation`` have axes in the order of
    their variance. On each axis the covariance of ability with the scores and
    the sum of the discriminations are not negative. An axis on which the two
    disagree is turned towards the leading one, by the least angle that mends
    it. Only when the two disagree over all axes together, which no rotation can
    mend, is the covariance alone made non-negative.

    Parameters
    ----------
    ability : ndarray, shape (m, d)
    slopes : ndarray, shape (n, d)
    scores : ndarray, shape (m,)
        Pass rates of the runs, NaN for a run without a verdict.

    Returns
    -------
    ndarray, shape (d, d)
        Orthogonal.
    """
    _, axes = np.linalg.eigh(ability.T @ ability)
    rotation = axes[:, ::-1].copy()
    scored = np.isfinite(scores)
    centred = scores[scored] - scores[scored].mean()
    by_score = centred @ ability[scored] @ rotation
    by_slope = slopes.sum(axis=0) @ rotation
    sign = np.where(np.where(by_score != 0, by_score, by_slope) < 0, -1.0, 1.0)
    rotation, by_score, by_slope = rotation * sign, by_score * sign, by_slope * sign
    if by_score @ by_slope <= 0:
        return rotation
    for _ in range(len(rotation) ** 2):
        against = np.flatnonzero(by_score * by_slope < 0)
        if not len(against):
            break
        turn = _turn(int(against[0]), int(np.argmax(by_score * by_slope)), by_score, by_slope)
        rotation, by_score, by_slope = rotation @ turn, by_score @ turn, by_slope @ turn
    return rotation * np.where(by_score + by_slope < 0, -1.0, 1.0)


def _turn(against: int, leading: int, by_score: Floats, by_slope: Floats) -> Floats:
    """Plane rotation that lifts the slope sum on axis `against` just above zero.

    It keeps the sum of ``by_score * by_slope`` over the two axes, so the
    leading axis pays for the axis it mends.
    """
    tilt = -by_slope[against] / by_slope[leading] * (1.0 + CLEARANCE)
    cosine = 1.0 / np.hypot(1.0, tilt)
    sine = tilt * cosine
    turn = np.eye(len(by_score))
    turn[[against, leading], [against, leading]] = cosine
    turn[leading, against] = sine
    turn[against, leading] = -sine
    return turn


def fit_mirt(
    matrix: ResponseMatrix,
    *,
    dimensions: int,
    discrimination_sd: float,
    difficulty_sd: float = DIFFICULTY_SD,
    held_out_log_likelihood: float | None = None,
) -> MirtModel:
    r"""Joint posterior mode of abilities, discriminations and difficulties.

    Maximises the binomial likelihood of :math:`\sigma(\alpha_j^T\theta_i - \beta_j)`
    over the valid cells with priors :math:`\theta_i \sim N(0, I)`,
    :math:`\alpha_j \sim N(0, s_\alpha^2 I)` and :math:`\beta_j \sim N(0, s_\beta^2)`,
    by Newton steps from a singular value decomposition. The objective is not
    concave, but with these priors it is a factored nuclear norm penalty, and random
    starts all end in the same mode. All of its rotations fit equally well;
    `MirtModel` describes the one returned.

    Parameters
    ----------
    matrix : ResponseMatrix
        Runs to calibrate on. The order of rows and columns does not change a
        single bit of the result.
    dimensions : int
        Number of abilities, d.
    discrimination_sd, difficulty_sd : float
        Standard deviations of the priors, in logits.
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
    check_sds({"discrimination_sd": discrimination_sd, "difficulty_sd": difficulty_sd})
    _check_size(matrix, dimensions)
    rows, columns = matrix.canonical_order()
    passes, trials = matrix.passes[np.ix_(rows, columns)], matrix.trials[np.ix_(rows, columns)]
    objective = Objective.of(
        passes,
        trials,
        dimensions=dimensions,
        discrimination_sd=discrimination_sd,
        difficulty_sd=difficulty_sd,
    )
    with one_thread():
        mode = posterior_mode(objective, tolerance=TOLERANCE)
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


def refit_mirt(matrix: ResponseMatrix, *, like: MirtModel) -> MirtModel:
    """Fit fewer runs with the settings of `like`, as far as they allow its dimensions."""
    return fit_mirt(
        matrix,
        dimensions=min(like.n_dimensions, largest_dimension(matrix)),
        discrimination_sd=like.discrimination_sd,
    )


def posterior_mode(objective: Objective, *, tolerance: float) -> Mode:
    """Mode reached from the factor start, in whatever rotation it comes."""
    start = factor_start(objective.passes, objective.trials, len(objective.question_precision) - 1)
    mode = maximise(objective, start, tolerance=tolerance, max_iterations=MAX_ITERATIONS)
    if not (np.isfinite(mode.point.runs).all() and np.isfinite(mode.point.questions).all()):
        raise FitError(
            "the multidimensional fit ran into non-finite parameters; tighten the priors"
        )
    return mode


def largest_dimension(matrix: ResponseMatrix) -> int:
    """Count the runs or the questions with a verdict, whichever are fewer."""
    valid = matrix.trials > 0
    return int(min(valid.any(axis=1).sum(), valid.any(axis=0).sum()))


def _check_size(matrix: ResponseMatrix, dimensions: int) -> None:
    if dimensions < 1:
        raise InputError(f"`dimensions` is {dimensions}; it must be at least 1")
    size = largest_dimension(matrix)
    if size < max(2, dimensions):
        raise NotEnoughDataError(
            f"only {size} runs or questions have a verdict; a fit in {dimensions} dimensions "
            f"needs at least {max(2, dimensions)} of each, import more full runs"
        )
