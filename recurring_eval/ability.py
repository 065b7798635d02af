r"""Ability of a run, given a fitted model: posterior mode, information, rank-one updates.

Every model here is :math:`\sigma(\alpha_j^T\theta - \beta_j)` with a normal prior of the
ability; the Rasch model is its case of one dimension and unit slopes.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.calibration.models import Model, RaschModel
from recurring_eval.errors import FitError, InputError
from recurring_eval.irt import mirt_pass_probability, pass_probability
from recurring_eval.validation import checked_counts, order_by_id

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-9
"""Newton's error after a step this short is far below rounding."""

LONGEST_STEP: Final = 1.5
"""Clip of a Newton step, in logits."""

MAX_ITERATIONS: Final = 1000
RASCH_TOLERANCE: Final = 1e-12
SMALLEST_PRECISION: Final = 1e-9


def estimate_abilities(
    model: Model,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    prior_mean: ArrayLike | None = None,
    prior_precision: float | None = None,
) -> Floats:
    r"""Posterior modes of many runs at once; each row depends on itself only.

    Maximises the binomial likelihood of :math:`\sigma(\alpha_j^T\theta - \beta_j)` with the
    prior :math:`\theta \sim N(\mu, \lambda^{-1} I)`. It is strictly concave, so the mode is
    unique, and finite for all-pass and all-fail runs.

    Parameters
    ----------
    model : RaschModel or MirtModel
    passes, trials : array_like, shape (m, n)
        One row per run, aligned with ``model.question_ids``; ``trials == 0`` where there is
        no valid verdict. The order of the questions does not change a bit of the result.
    prior_mean : float or array_like, shape (d,), optional
    prior_precision : float, optional
        Of the ability; the model's by default. A precision of 1 around zero is the
        papers' N(0, I).

    Returns
    -------
    ndarray, shape (m,) for a Rasch model, (m, d) for a multidimensional one
        In logits. Without any verdict it is the prior's mean.

    Raises
    ------
    InputError
        Shapes or counts are not acceptable, or the precision is below 1e-9.
    FitError
        A row does not converge.
    """
    mean, precision = checked_prior(model, prior_mean, prior_precision)
    successes, asked = checked_counts(passes, trials, model.n_questions)
    order = order_by_id(model.question_ids)
    difficulty, asked = model.difficulty[order], np.ascontiguousarray(asked[:, order])
    if isinstance(model, RaschModel):
        return _rasch_modes(successes.sum(axis=1), asked, difficulty, float(mean[0]), precision)
    return posterior_modes(
        model.discrimination[order],
        difficulty,
        successes[:, order],
        asked,
        prior_mean=mean,
        prior_precision=precision,
    )


def slopes_of(model: Model) -> Floats:
    """Discriminations of any model as (n, d); ones, with d = 1, for a Rasch model."""
    slopes = model.discrimination
    return slopes[:, np.newaxis] if isinstance(model, RaschModel) else slopes


def checked_prior(
    model: Model, prior_mean: ArrayLike | None, prior_precision: float | None
) -> tuple[Floats, float]:
    """Return the ability prior to use: what is given, else the model's; the mean is (d,).

    Raises
    ------
    InputError
        It is not finite, has another dimension, or the precision is below 1e-9.
    """
    given = model.prior_mean if prior_mean is None else prior_mean
    mean = np.atleast_1d(np.asarray(given, dtype=np.float64))
    precision = model.prior_precision if prior_precision is None else prior_precision
    d = slopes_of(model).shape[1]
    if mean.shape != (d,):
        raise InputError(
            f"`prior_mean` has shape {mean.shape}; give one number for each of the model's "
            f"{d} dimensions"
        )
    if not (np.isfinite(mean).all() and SMALLEST_PRECISION <= precision < math.inf):
        raise InputError(
            f"the ability prior has mean {mean} and precision {precision}; give a finite mean "
            f"and a positive precision of at least {SMALLEST_PRECISION:g}"
        )
    return mean, precision


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
        p = mirt_pass_probability(at, a, b)
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


def _rasch_modes(
    successes: Floats, trials: Floats, difficulty: Floats, mean: float, precision: float
) -> Floats:
    """`posterior_modes` of one ability and unit slopes, in six tenths of its time.

    Newton steps on the sufficient statistics, kept inside a shrinking bracket; converged rows
    are left alone here too.
    """
    theta = np.full(len(successes), mean)
    # At these bounds the prior's pull outweighs all fails, or all passes; the
    # extra one keeps a root at the very edge inside, whatever the rounding.
    low = mean - (trials.sum(axis=1) - successes + 1.0) / precision
    high = mean + (successes + 1.0) / precision
    last_move = high - low
    active = np.flatnonzero(trials.any(axis=1))
    for _ in range(MAX_ITERATIONS):
        if not len(active):
            return theta
        here = theta[active]
        slope, curvature = _rasch_score(here, successes[active], trials[active], difficulty)
        slope -= precision * (here - mean)
        rising = slope > 0
        low[active] = np.where(rising, here, low[active])
        high[active] = np.where(rising, high[active], here)
        proposal = here + slope / (curvature + precision)
        # Bisect when Newton leaves the bracket or no longer halves its moves.
        trusted = (proposal >= low[active]) & (proposal <= high[active])
        trusted &= np.abs(proposal - here) <= last_move[active] / 2
        proposal = np.where(trusted, proposal, (low[active] + high[active]) / 2)
        theta[active] = proposal
        last_move[active] = np.abs(proposal - here)
        active = active[last_move[active] > RASCH_TOLERANCE * (1.0 + np.abs(proposal))]
    raise FitError("an ability did not converge; check its prior precision")


def _rasch_score(
    theta: Floats, successes: Floats, trials: Floats, difficulty: Floats
) -> tuple[Floats, Floats]:
    """First and negative second derivative of the log likelihood, each (m,)."""
    probability = pass_probability(theta[:, np.newaxis], difficulty)
    expected = trials * probability
    curvature = (expected * (1.0 - probability)).sum(axis=1)
    return successes - expected.sum(axis=1), curvature


def posterior_information(
    theta: Floats, slopes: Floats, difficulty: Floats, trials: Floats, prior_precision: float
) -> Floats:
    r"""Prior precision plus :math:`\sum_j t_j p_j (1 - p_j) \alpha_j \alpha_j^T`, (m, d, d).

    Parameters have the shapes of `posterior_modes`, `theta` is (m, d).
    """
    p = mirt_pass_probability(theta, slopes, difficulty)
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


def _information(weight: Floats, slopes: Floats, prior_precision: float) -> Floats:
    weighted = weight[..., np.newaxis] * slopes
    d = slopes.shape[-1]
    squares = np.matmul(np.swapaxes(slopes, -1, -2), weighted)
    return np.asarray(squares + prior_precision * np.eye(d))


def _newton(gradient: Floats, information: Floats) -> Floats:
    step = np.linalg.solve(information, gradient[..., np.newaxis])[..., 0]
    length = np.linalg.norm(step, axis=-1, keepdims=True)
    return np.asarray(step * (LONGEST_STEP / np.maximum(length, LONGEST_STEP)))
