"""Logistic items on a known ability, and factors of what that ability leaves over.

HSPR, Appendix A, *Item initialization* and *Residual factors*; the item model of HSPR and of
the baselines that predict with residual factors.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from recurring_eval.irt import sigmoid, smoothed_logit

Floats = NDArray[np.float64]

N_UPDATES: Final = 16
MAX_UPDATE: Final = 0.5
INTERCEPT_BOUND: Final = 10.0
SLOPE_BOUNDS: Final = (0.05, 5.0)
SLOPE_PRECISION: Final = 2.0
ABILITY_SD_FLOOR: Final = 0.25
VARIANCE_FLOOR: Final = 0.08


def standardised_abilities(passes: Floats, trials: Floats) -> Floats:
    """Standardised logits of each run's Jeffreys-smoothed score, shape (m,).

    Parameters
    ----------
    passes, trials : ndarray, shape (m, n)
        Zero where a cell is missing.
    """
    ability = smoothed_logit(passes.sum(axis=1), trials.sum(axis=1))
    return np.asarray((ability - ability.mean()) / max(float(ability.std()), ABILITY_SD_FLOOR))


def fit_logistic_items(
    passes: Floats, trials: Floats, ability: Floats, initial: Floats
) -> tuple[Floats, Floats]:
    r"""Posterior modes of :math:`\mathrm{logit}\,P = b + a\,\theta` with known abilities.

    Priors N(b0, 1) of the intercept and N(1, 1/2) of the slope. Sixteen joint 2x2 Newton
    updates per question, clipped coordinate by coordinate.

    Parameters
    ----------
    passes, trials : ndarray, shape (m, n)
        Zero where a cell is missing; both may be fractional.
    ability : ndarray, shape (m,)
    initial : ndarray, shape (n,)
        b0, where the updates start.

    Returns
    -------
    tuple of ndarray, each of shape (n,)
        Intercepts and slopes.
    """
    ability_squared = ability**2
    intercept, slope = initial.copy(), np.ones_like(initial)
    for _ in range(N_UPDATES):
        p = sigmoid(intercept + np.outer(ability, slope))
        residual = passes - trials * p
        weight = trials * p * (1.0 - p)
        gradient_b = residual.sum(axis=0) - (intercept - initial)
        gradient_a = ability @ residual - SLOPE_PRECISION * (slope - 1.0)
        h_bb = weight.sum(axis=0) + 1.0
        h_ab = ability @ weight
        h_aa = ability_squared @ weight + SLOPE_PRECISION
        determinant = h_bb * h_aa - h_ab**2
        step_b = (h_aa * gradient_b - h_ab * gradient_a) / determinant
        step_a = (h_bb * gradient_a - h_ab * gradient_b) / determinant
        intercept = intercept + np.clip(step_b, -MAX_UPDATE, MAX_UPDATE)
        slope = slope + np.clip(step_a, -MAX_UPDATE, MAX_UPDATE)
        intercept = np.clip(intercept, -INTERCEPT_BOUND, INTERCEPT_BOUND)
        slope = np.clip(slope, *SLOPE_BOUNDS)
    return intercept, slope


def residual_factors(residual: Floats, variance: Floats, rank: int) -> Floats:
    """Scaled right singular vectors of centred residuals, equation (19), shape (n, rank).

    The sign of a factor is arbitrary: its largest entry is made positive. Factors beyond
    the rank of the residuals are zero.

    Parameters
    ----------
    residual : ndarray, shape (m, n)
        Of each run and question, centred over the runs.
    variance : ndarray, shape (n,)
        Mean p(1 - p) of each question, which turns residuals into logits.
    rank : int
    """
    m, n = residual.shape
    _, singular, right = linalg.svd(residual, full_matrices=False)
    found = min(rank, len(singular))
    right = right[:found]
    peak = np.abs(right).argmax(axis=1)
    right = right * np.sign(right[np.arange(found), peak])[:, np.newaxis]
    scale = np.sqrt(max(1, m - 1)) * np.maximum(variance, VARIANCE_FLOOR)
    factors = np.zeros((n, rank))
    # Singular values of rounding noise are no factor.
    kept = singular[:found] > 1e-10 * max(1.0, float(singular[0]))
    factors[:, :found] = (right * np.where(kept, singular[:found], 0.0)[:, np.newaxis]).T
    return np.asarray(factors / scale[:, np.newaxis])
