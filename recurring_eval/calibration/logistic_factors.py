"""Logistic items with residual factors: one general ability, and what it leaves over."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import NotEnoughDataError
from recurring_eval.irt import logit, sigmoid
from recurring_eval.response_matrix import ResponseMatrix

Floats = NDArray[np.float64]

N_UPDATES: Final = 16
LONGEST_STEP: Final = 0.5
SMALLEST_SLOPE: Final = 0.05
SMALLEST_SPREAD: Final = 0.25
SMALLEST_VARIANCE: Final = 0.08
INTERCEPT_PRECISION: Final = 1.0
SLOPE_PRECISION: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticFactors:
    r"""Items with :math:`\mathrm{logit}\,P = b_i + l_i^T z`, z a run's coordinates.

    Attributes
    ----------
    question_ids : tuple of str
        Length n.
    intercept : ndarray, shape (n,)
    loadings : ndarray, shape (n, 1 + rank)
        The slope of the general ability, then the residual factors.
    """

    question_ids: tuple[str, ...]
    intercept: Floats
    loadings: Floats


def fit_logistic_factors(
    source: ResponseMatrix, *, rank: int, prior_intercept: Floats | None = None
) -> LogisticFactors:
    """Fit every item on the runs' standardised scores, then factor the residuals.

    Intercepts and slopes are posterior modes with priors N(b0, 1) and
    N(1, 1/2), by damped Newton steps; residual factors are the leading
    directions of the centred residuals, scaled to logits. Missing cells have
    no part in the items and a residual of zero.

    Parameters
    ----------
    source : ResponseMatrix
    rank : int
        Residual factors; those the source cannot support are zero.
    prior_intercept : ndarray, shape (n,), optional
        b0; by default the logit of the smoothed pass rate.

    Raises
    ------
    NotEnoughDataError
        Fewer than two runs have a verdict.

    References
    ----------
    HSPR, item model.
    """
    answered = (source.trials > 0).any(axis=1)
    if answered.sum() < 2:
        raise NotEnoughDataError("a factor model needs at least 2 runs with a verdict")
    passes = source.passes[answered].astype(np.float64)
    trials = source.trials[answered].astype(np.float64)
    if prior_intercept is None:
        prior_intercept = logit((passes.sum(axis=0) + 0.5) / (trials.sum(axis=0) + 1.0))
    ability = _standardised_ability(passes, trials)
    intercept, slope = _fit_items(passes, trials, ability, prior_intercept)
    predicted = sigmoid(intercept + np.outer(ability, slope))
    factors = _residual_factors(passes, trials, predicted, rank)
    return LogisticFactors(
        question_ids=source.question_ids,
        intercept=intercept,
        loadings=np.column_stack([slope, factors]),
    )


def _standardised_ability(passes: Floats, trials: Floats) -> Floats:
    ability = logit((passes.sum(axis=1) + 0.5) / (trials.sum(axis=1) + 1.0))
    return np.asarray((ability - ability.mean()) / max(float(ability.std()), SMALLEST_SPREAD))


def _fit_items(
    passes: Floats, trials: Floats, ability: Floats, prior_intercept: Floats
) -> tuple[Floats, Floats]:
    intercept, slope = prior_intercept.copy(), np.ones(len(prior_intercept))
    for _ in range(N_UPDATES):
        p = sigmoid(intercept + np.outer(ability, slope))
        residual = passes - trials * p
        weight = trials * p * (1.0 - p)
        by_intercept = residual.sum(axis=0) - INTERCEPT_PRECISION * (intercept - prior_intercept)
        by_slope = ability @ residual - SLOPE_PRECISION * (slope - 1.0)
        h11 = weight.sum(axis=0) + INTERCEPT_PRECISION
        h12 = ability @ weight
        h22 = ability**2 @ weight + SLOPE_PRECISION
        determinant = h11 * h22 - h12**2
        intercept = intercept + _clipped((h22 * by_intercept - h12 * by_slope) / determinant)
        slope = slope + _clipped((h11 * by_slope - h12 * by_intercept) / determinant)
        slope = np.maximum(slope, SMALLEST_SLOPE)
    return intercept, slope


def _clipped(step: Floats) -> Floats:
    return np.clip(step, -LONGEST_STEP, LONGEST_STEP)


def _residual_factors(passes: Floats, trials: Floats, predicted: Floats, rank: int) -> Floats:
    """Scaled loadings (n, rank), zero beyond the rank of the residuals."""
    valid = trials > 0
    rates = np.divide(passes, trials, out=predicted.copy(), where=valid)
    residual = rates - predicted
    residual -= residual.mean(axis=0)
    _, scale, directions = np.linalg.svd(residual, full_matrices=False)
    spread = np.maximum((predicted * (1.0 - predicted)).mean(axis=0), SMALLEST_VARIANCE)
    factors = np.zeros((passes.shape[1], rank))
    usable = min(rank, len(scale), len(passes) - 1)
    scaled = directions[:usable].T * scale[:usable] / np.sqrt(max(1, len(passes) - 1))
    factors[:, :usable] = scaled / spread[:, np.newaxis]
    return factors
