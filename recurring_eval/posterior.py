"""Posterior of an ability vector: mode, information and rank-one updates."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import FitError
from recurring_eval.irt import sigmoid

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-9
"""Newton's error after a step this short is far below rounding."""

LONGEST_STEP: Final = 1.5
"""Clip of a Newton step, in logits."""

MAX_ITERATIONS: Final = 1000


def posterior_modes(
    slopes: Floats,
    difficulty: Floats,
    passes: Floats,
    trials: Floats,
    *,
    prior_mean: Floats,
    prior_precision: float,
) -> Floats:
    """Posterior modes by clipped Newton steps, halved while they overshoot.

    Unchecked arrays, for callers that keep their own. A row that has converged is
    left alone, so that it does not matter which rows it is solved with.

    Parameters
    ----------
    slopes : ndarray, shape (t, d) or (m, t, d)
        Of the questions, shared by all runs or each run's own.
    difficulty : ndarray, shape (t,) or (m, t)
    passes, trials : ndarray of float, shape (m, t)
    prior_mean : ndarray, shape (d,)
    prior_precision : float

    Returns
    -------
    ndarray, shape (m, d)

    Raises
    ------
    FitError
        A row does not converge.
    """
    theta = np.tile(prior_mean, (len(passes), 1))
    own = slopes.ndim == 3

    def derivatives(at: Floats, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        a, b = (slopes[rows], difficulty[rows]) if own else (slopes, difficulty)
        p = _probabilities(at, a, b)
        expected = trials[rows] * p
        gradient = np.matmul((passes[rows] - expected)[:, np.newaxis], a)[:, 0]
        gradient -= prior_precision * (at - prior_mean)
        return gradient, _information(expected * (1.0 - p), a, prior_precision)

    active = np.flatnonzero(trials.any(axis=1))
    gradient, information = derivatives(theta[active], active)
    step = _newton(gradient, information)
    for _ in range(MAX_ITERATIONS):
        done = np.abs(step).max(axis=1, initial=0.0) <= TOLERANCE
        if done.any():
            theta[active[done]] += step[done]
            active, gradient, step = active[~done], gradient[~done], step[~done]
        if not len(active):
            return theta
        proposal = theta[active] + step
        ahead, information = derivatives(proposal, active)
        # The slope along the step falls from positive; far below zero means that
        # the step went well past the maximum in its direction.
        overshot = (ahead * step).sum(axis=1) < -(gradient * step).sum(axis=1) / 2
        kept = ~overshot
        theta[active[kept]] = proposal[kept]
        gradient = np.where(overshot[:, np.newaxis], gradient, ahead)
        step = np.where(overshot[:, np.newaxis], step / 2, _newton(ahead, information))
    raise FitError("an ability did not converge; check its prior precision")


def posterior_information(
    theta: Floats, slopes: Floats, difficulty: Floats, trials: Floats, prior_precision: float
) -> Floats:
    r"""Prior precision plus :math:`\sum_j t_j p_j (1 - p_j) \alpha_j \alpha_j^T`, (m, d, d).

    Parameters have the shapes of `posterior_modes`, `theta` is (m, d).
    """
    p = _probabilities(theta, slopes, difficulty)
    return _information(trials * p * (1.0 - p), slopes, prior_precision)


def covariance_after(covariance: Floats, slopes: Floats, weight: Floats) -> Floats:
    """Inverse information after one more question, by a rank-one update.

    Sherman and Morrison: ``(I + w a a^T)^-1`` from ``I^-1``, for each of m runs.

    Parameters
    ----------
    covariance : ndarray, shape (m, d, d)
    slopes : ndarray, shape (m, d)
        Of the question added to each run.
    weight : ndarray, shape (m,)
        Its p(1 - p), times its trials.

    Returns
    -------
    ndarray, shape (m, d, d)
    """
    along = np.matmul(covariance, slopes[..., np.newaxis])[..., 0]
    shrink = weight / (1.0 + weight * (along * slopes).sum(axis=-1))
    outer = along[:, :, np.newaxis] * along[:, np.newaxis]
    return np.asarray(covariance - shrink[:, np.newaxis, np.newaxis] * outer)


def _probabilities(theta: Floats, slopes: Floats, difficulty: Floats) -> Floats:
    # One product per run: a joint one would round a run by its neighbours.
    return sigmoid(np.matmul(slopes, theta[..., np.newaxis])[..., 0] - difficulty)


def _information(weight: Floats, slopes: Floats, prior_precision: float) -> Floats:
    weighted = weight[..., np.newaxis] * slopes
    d = slopes.shape[-1]
    squares = np.matmul(np.swapaxes(slopes, -1, -2), weighted)
    return np.asarray(squares + prior_precision * np.eye(d))


def _newton(gradient: Floats, information: Floats) -> Floats:
    step = np.linalg.solve(information, gradient[..., np.newaxis])[..., 0]
    length = np.linalg.norm(step, axis=-1, keepdims=True)
    return np.asarray(step * (LONGEST_STEP / np.maximum(length, LONGEST_STEP)))
