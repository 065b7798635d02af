"""Ability of a run in a multidimensional 2PL: posterior mode under a normal prior."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.errors import InputError
from recurring_eval.posterior import posterior_information, posterior_modes
from recurring_eval.records import AbilityEstimate
from recurring_eval.validation import checked_counts, order_by_id

Floats = NDArray[np.float64]


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
    order = order_by_id(model.question_ids)
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
    successes, asked = checked_counts(passes, trials, model.n_questions)
    order = order_by_id(model.question_ids)
    return posterior_modes(
        model.discrimination[order],
        model.difficulty[order],
        successes[:, order],
        asked[:, order],
        prior_mean=mean,
        prior_precision=precision,
    )


def checked_prior(
    model: MirtModel, prior_mean: ArrayLike | None, prior_precision: float | None
) -> tuple[Floats, float]:
    """Return the ability prior to use: what is given, else the model's.

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
