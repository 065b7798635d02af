"""Ability of one run with its covariance, from the functions that serve many runs."""

import numpy as np
from numpy.typing import ArrayLike

from recurring_eval.ability import (
    checked_prior,
    estimate_abilities,
    posterior_information,
    slopes_of,
)
from recurring_eval.calibration.models import Model
from recurring_eval.records import AbilityEstimate
from recurring_eval.validation import order_by_id


def estimate_ability(
    model: Model,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    prior_mean: ArrayLike | None = None,
    prior_precision: float | None = None,
) -> AbilityEstimate:
    """Posterior mode and inverse posterior information of one run, counts of shape (n,)."""
    asked = np.asarray(trials, dtype=np.float64)
    theta = np.atleast_2d(
        estimate_abilities(
            model,
            np.asarray(passes)[np.newaxis],
            asked[np.newaxis],
            prior_mean=prior_mean,
            prior_precision=prior_precision,
        )
    )
    _, precision = checked_prior(model, prior_mean, prior_precision)
    order = order_by_id(model.question_ids)
    information = posterior_information(
        theta, slopes_of(model)[order], model.difficulty[order], asked[np.newaxis, order], precision
    )
    return AbilityEstimate(
        theta=theta[0],
        covariance=np.linalg.inv(information[0]),
        n_observed=int(np.count_nonzero(asked)),
    )
