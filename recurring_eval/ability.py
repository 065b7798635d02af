"""Ability of a run, given the difficulties: posterior mode under a normal prior."""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.errors import FitError, InputError
from recurring_eval.irt import item_information, pass_probability
from recurring_eval.records import AbilityEstimate
from recurring_eval.validation import checked_counts, order_by_id

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-12
MAX_ITERATIONS: Final = 500
SMALLEST_PRECISION: Final = 1e-9


def estimate_ability(
    model: RaschModel,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    prior_mean: float | None = None,
    prior_precision: float | None = None,
) -> AbilityEstimate:
    r"""Posterior mode of one run's ability and the inverse posterior information.

    Solves :math:`\sum_j (s_j - t_j\,\sigma(\theta - \beta_j)) = \lambda(\theta - \mu)`,
    whose left side less its right side falls strictly, so the root is unique
    and finite for all-pass and all-fail runs too.

    Parameters
    ----------
    model : RaschModel
    passes, trials : array_like, shape (n,)
        Aligned with ``model.question_ids``; ``trials == 0`` where there is no
        valid verdict. Their order, together with the model's, does not change
        a bit of the result.
    prior_mean, prior_precision : float, optional
        Of the ability; the model's by default.

    Returns
    -------
    AbilityEstimate
        One-dimensional. Without any verdict it is the prior.

    Raises
    ------
    InputError
        Shapes or counts are not acceptable, or the precision is below 1e-9.
    """
    theta = estimate_abilities(
        model,
        np.asarray(passes)[np.newaxis],
        np.asarray(trials)[np.newaxis],
        prior_mean=prior_mean,
        prior_precision=prior_precision,
    )
    _, precision = _prior(model, prior_mean, prior_precision)
    asked = np.asarray(trials, dtype=np.float64)[order_by_id(model.question_ids)]
    information = item_information(theta, model.difficulty[order_by_id(model.question_ids)])
    total = float((asked * information).sum()) + precision
    return AbilityEstimate(
        theta=theta,
        covariance=np.array([[1.0 / total]]),
        n_observed=int(np.count_nonzero(asked)),
    )


def estimate_abilities(
    model: RaschModel,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    prior_mean: float | None = None,
    prior_precision: float | None = None,
) -> Floats:
    """Posterior modes of many runs at once; each row depends on itself only.

    Parameters
    ----------
    model : RaschModel
    passes, trials : array_like, shape (m, n)
        As in `estimate_ability`, one row per run.
    prior_mean, prior_precision : float, optional

    Returns
    -------
    ndarray, shape (m,)
        In logits, bit for bit what `estimate_ability` gives row by row.

    Raises
    ------
    InputError
        Shapes or counts are not acceptable, or the precision is below 1e-9.
    """
    mean, precision = _prior(model, prior_mean, prior_precision)
    successes, asked = checked_counts(passes, trials, model.n_questions)
    order = order_by_id(model.question_ids)
    return _posterior_modes(
        successes.sum(axis=1),
        np.ascontiguousarray(asked[:, order]),
        model.difficulty[order],
        mean,
        precision,
    )


def _posterior_modes(
    successes: Floats, trials: Floats, difficulty: Floats, mean: float, precision: float
) -> Floats:
    """Newton steps kept inside a shrinking bracket, all rows together.

    A row that has converged is left alone, so that it does not matter which
    rows it is solved with.
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
        slope, curvature = _score(here, successes[active], trials[active], difficulty)
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
        active = active[last_move[active] > TOLERANCE * (1.0 + np.abs(proposal))]
    raise FitError("an ability did not converge; check its prior precision")


def _score(
    theta: Floats, successes: Floats, trials: Floats, difficulty: Floats
) -> tuple[Floats, Floats]:
    """First and negative second derivative of the log likelihood, each (m,)."""
    probability = pass_probability(theta[:, np.newaxis], difficulty)
    expected = trials * probability
    curvature = (expected * (1.0 - probability)).sum(axis=1)
    return successes - expected.sum(axis=1), curvature


def _prior(
    model: RaschModel, prior_mean: float | None, prior_precision: float | None
) -> tuple[float, float]:
    mean = model.prior_mean if prior_mean is None else prior_mean
    precision = model.prior_precision if prior_precision is None else prior_precision
    if not (math.isfinite(mean) and SMALLEST_PRECISION <= precision < math.inf):
        raise InputError(
            f"the ability prior has mean {mean} and precision {precision}; "
            f"give a finite mean and a precision of at least {SMALLEST_PRECISION:g}"
        )
    return mean, precision
