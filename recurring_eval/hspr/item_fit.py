"""Regularised logistic item model and residual factors of the source agents.

HSPR, Appendix A, *Item initialization* and *Residual factors*. A cell holds
passes/trials and counts once, however many trials it has; cells without a valid
verdict are left out of every sum.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from recurring_eval.hspr.config import MAX_RANK
from recurring_eval.hspr.source_rates import ZeroInflatedBeta, fit_zero_inflated_beta
from recurring_eval.irt import logit, sigmoid

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

N_UPDATES: Final = 16
MAX_UPDATE: Final = 0.5
INTERCEPT_BOUND: Final = 10.0
SLOPE_BOUNDS: Final = (0.05, 5.0)
SLOPE_PRECISION: Final = 2.0
ABILITY_SD_FLOOR: Final = 0.25
VARIANCE_FLOOR: Final = 0.08


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFit:
    """Source-fitted parameters of every question.

    Attributes
    ----------
    rates : ZeroInflatedBeta
    ability : ndarray, shape (m,)
        Standardised logits of the sources' smoothed scores.
    initial_intercept, intercept, slope : ndarray, shape (N,)
    directions : ndarray, shape (N, MAX_RANK)
        Scaled residual loadings, equation (19); zero beyond the rank.
    fitted : ndarray, shape (m, N)
        Fitted probabilities of the sources.
    """

    rates: ZeroInflatedBeta
    ability: Floats
    initial_intercept: Floats
    intercept: Floats
    slope: Floats
    directions: Floats
    fitted: Floats


def fit_items(rates: Floats, valid: Bools) -> ItemFit:
    """Fit intercepts, slopes and residual directions.

    Parameters
    ----------
    rates : ndarray, shape (m, N)
        passes/trials per source and question; ignored where not valid.
    valid : ndarray of bool, shape (m, N)
    """
    cells = np.where(valid, rates, 0.0)
    n_sources = valid.sum(axis=0, dtype=np.float64)
    passes = cells.sum(axis=0)
    prior = fit_zero_inflated_beta(passes, n_sources)
    initial = logit(prior.initial_rates(passes, n_sources))
    ability = source_abilities(cells, valid)
    intercept, slope = regularised_newton(cells, valid, ability, initial)
    fitted = sigmoid(intercept + np.outer(ability, slope))
    return ItemFit(
        rates=prior,
        ability=ability,
        initial_intercept=initial,
        intercept=intercept,
        slope=slope,
        directions=residual_directions(cells, valid, fitted),
        fitted=fitted,
    )


def source_abilities(cells: Floats, valid: Bools) -> Floats:
    """Standardised logits of Jeffreys-smoothed scores over the valid questions, shape (m,)."""
    smoothed = (cells.sum(axis=1) + 0.5) / (valid.sum(axis=1) + 1.0)
    ability = logit(smoothed)
    return np.asarray((ability - ability.mean()) / max(float(ability.std()), ABILITY_SD_FLOOR))


def regularised_newton(
    cells: Floats, valid: Bools, ability: Floats, initial: Floats
) -> tuple[Floats, Floats]:
    """Sixteen joint 2x2 Newton updates per question, clipped coordinate by coordinate.

    Returns
    -------
    tuple of ndarray, each of shape (N,)
        Intercepts and slopes.
    """
    weight = valid.astype(np.float64)
    # Row vectors times (m, N) tables: the sums over sources.
    theta, theta_squared = ability, ability**2
    intercept, slope = initial.copy(), np.ones_like(initial)
    for _ in range(N_UPDATES):
        p = sigmoid(intercept + np.outer(theta, slope))
        residual = cells - weight * p
        variance = weight * p * (1.0 - p)
        gradient_b = residual.sum(axis=0) - (intercept - initial)
        gradient_a = theta @ residual - SLOPE_PRECISION * (slope - 1.0)
        h_bb = variance.sum(axis=0) + 1.0
        h_ab = theta @ variance
        h_aa = theta_squared @ variance + SLOPE_PRECISION
        determinant = h_bb * h_aa - h_ab**2
        step_b = (h_aa * gradient_b - h_ab * gradient_a) / determinant
        step_a = (h_bb * gradient_a - h_ab * gradient_b) / determinant
        intercept = intercept + np.clip(step_b, -MAX_UPDATE, MAX_UPDATE)
        slope = slope + np.clip(step_a, -MAX_UPDATE, MAX_UPDATE)
        intercept = np.clip(intercept, -INTERCEPT_BOUND, INTERCEPT_BOUND)
        slope = np.clip(slope, *SLOPE_BOUNDS)
    return intercept, slope


def residual_directions(cells: Floats, valid: Bools, fitted: Floats) -> Floats:
    """Scaled right singular vectors of the centred residuals, shape (N, MAX_RANK).

    A missing cell has residual zero after centring over the sources that answered.
    The sign of a direction is arbitrary, but decides at which latent states the finite nodes
    lie: its largest entry is made positive.
    """
    n_sources, n_questions = cells.shape
    answered = np.maximum(valid.sum(axis=0), 1)
    residual = np.where(valid, cells - fitted, 0.0)
    residual = np.where(valid, residual - residual.sum(axis=0) / answered, 0.0)
    variance = np.where(valid, fitted * (1.0 - fitted), 0.0).sum(axis=0) / answered
    _, singular, right = linalg.svd(residual, full_matrices=False)
    rank = min(MAX_RANK, len(singular))
    right = right[:rank]
    peak = np.abs(right).argmax(axis=1)
    right = right * np.sign(right[np.arange(rank), peak])[:, np.newaxis]
    scale = np.sqrt(max(1, n_sources - 1)) * np.maximum(variance, VARIANCE_FLOOR)
    directions = np.zeros((n_questions, MAX_RANK))
    # Singular values of rounding noise are no direction.
    kept = singular[:rank] > 1e-10 * max(1.0, float(singular[0]))
    directions[:, :rank] = (right * np.where(kept, singular[:rank], 0.0)[:, np.newaxis]).T
    return np.asarray(directions / scale[:, np.newaxis])
