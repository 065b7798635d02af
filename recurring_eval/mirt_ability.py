"""Ability of a run in a multidimensional 2PL: posterior mode under a normal prior."""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.errors import FitError, InputError
from recurring_eval.irt import sigmoid
from recurring_eval.records import AbilityEstimate

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-9
"""Newton's error after a step this short is far below rounding."""

LONGEST_STEP: Final = 1.5
"""Clip of a Newton step, in logits."""

MAX_ITERATIONS: Final = 1000


def estimate_mirt_ability(
    model: MirtModel,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    prior_mean: ArrayLike | None = None,
    prior_precision: float | None = None,
) -> AbilityEstimate:
    r"""Posterior mode of one run's abilities and the inverse posterior information.

    Maximises the binomial likelihood of :math:`\sigma(\alpha_j^T\theta - \beta_j)`
    with the prior :math:`\theta \sim N(\mu, \lambda^{-1} I)`. It is strictly
    concave, so the mode is unique, and finite for all-pass and all-fail runs.

    Parameters
    ----------
    model : MirtModel
    passes, trials : array_like, shape (n,)
        Aligned with ``model.question_ids``; ``trials == 0`` where there is no
        valid verdict.
    prior_mean : array_like, shape (d,), optional
        The model's by default.
    prior_precision : float, optional
        The model's by default; 1 with a zero `prior_mean` is the papers' N(0, I).

    Returns
    -------
    AbilityEstimate
        d-dimensional. Without any verdict it is the prior.

    Raises
    ------
    InputError
        Shapes or counts are not acceptable, or the precision is not positive.
    """
    asked = np.asarray(trials, dtype=np.float64)
    theta = estimate_mirt_abilities(
        model,
        np.asarray(passes)[np.newaxis],
        asked[np.newaxis],
        prior_mean=prior_mean,
        prior_precision=prior_precision,
    )
    _, precision = checked_prior(model, prior_mean, prior_precision)
    order = _by_id(model)
    information = posterior_information(
        theta,
        model.discrimination[order],
        model.difficulty[order],
        asked[np.newaxis, order],
        precision,
    )
    return AbilityEstimate(
        theta=theta[0],
        covariance=np.linalg.inv(information[0]),
        n_observed=int(np.count_nonzero(asked)),
    )


def estimate_mirt_abilities(
    model: MirtModel,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    prior_mean: ArrayLike | None = None,
    prior_precision: float | None = None,
) -> Floats:
    """Posterior modes of many runs at once; each row depends on itself only.

    Parameters
    ----------
    model : MirtModel
    passes, trials : array_like, shape (m, n)
        As in `estimate_mirt_ability`, one row per run.
    prior_mean : array_like, shape (d,), optional
    prior_precision : float, optional

    Returns
    -------
    ndarray, shape (m, d)
        In logits, bit for bit what `estimate_mirt_ability` gives row by row.

    Raises
    ------
    InputError
        Shapes or counts are not acceptable, or the precision is not positive.
    """
    mean, precision = checked_prior(model, prior_mean, prior_precision)
    successes, asked = _checked_counts(model, passes, trials)
    order = _by_id(model)
    return posterior_modes(
        model.discrimination[order],
        model.difficulty[order],
        successes[:, order],
        asked[:, order],
        prior_mean=mean,
        prior_precision=precision,
    )


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
    return covariance - shrink[:, np.newaxis, np.newaxis] * outer


def checked_prior(
    model: MirtModel, prior_mean: ArrayLike | None, prior_precision: float | None
) -> tuple[Floats, float]:
    """The ability prior to use: what is given, else the model's.

    Raises
    ------
    InputError
        It is not finite, has another dimension, or the precision is not positive.
    """
    mean = np.asarray(model.prior_mean if prior_mean is None else prior_mean, dtype=np.float64)
    precision = model.prior_precision if prior_precision is None else prior_precision
    if mean.shape != (model.n_dimensions,):
        raise InputError(
            f"`prior_mean` has shape {mean.shape}; give one number for each of the model's "
            f"{model.n_dimensions} dimensions"
        )
    if not (np.isfinite(mean).all() and math.isfinite(precision) and precision > 0):
        raise InputError(
            f"the ability prior has precision {precision} or a mean that is not finite; "
            "give a finite mean and a positive precision"
        )
    return mean, precision


def _probabilities(theta: Floats, slopes: Floats, difficulty: Floats) -> Floats:
    # One product per run: a joint one would round a run by its neighbours.
    return sigmoid(np.matmul(slopes, theta[..., np.newaxis])[..., 0] - difficulty)


def _information(weight: Floats, slopes: Floats, prior_precision: float) -> Floats:
    weighted = weight[..., np.newaxis] * slopes
    d = slopes.shape[-1]
    return np.matmul(np.swapaxes(slopes, -1, -2), weighted) + prior_precision * np.eye(d)


def _newton(gradient: Floats, information: Floats) -> Floats:
    step = np.linalg.solve(information, gradient[..., np.newaxis])[..., 0]
    length = np.linalg.norm(step, axis=-1, keepdims=True)
    return np.asarray(step * (LONGEST_STEP / np.maximum(length, LONGEST_STEP)))


def _by_id(model: MirtModel) -> NDArray[np.intp]:
    order = sorted(range(model.n_questions), key=model.question_ids.__getitem__)
    return np.array(order, dtype=np.intp)


def _checked_counts(
    model: MirtModel, passes: ArrayLike, trials: ArrayLike
) -> tuple[Floats, Floats]:
    successes = np.asarray(passes, dtype=np.float64)
    asked = np.asarray(trials, dtype=np.float64)
    if successes.shape != asked.shape or asked.shape[1:] != (model.n_questions,):
        raise InputError(
            f"`passes` {successes.shape} and `trials` {asked.shape} need one column for each of "
            f"the model's {model.n_questions} questions"
        )
    if not ((successes >= 0) & (successes <= asked) & np.isfinite(asked)).all():
        raise InputError("`passes` must lie between 0 and `trials` for every question")
    return successes, asked
