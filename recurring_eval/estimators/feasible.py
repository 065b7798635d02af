"""The range a full score can still take, given what was observed."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.estimators.outcomes import observed_mask, outcome_rates


def feasible_range(
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score if every unobserved question failed, and if every one passed.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (..., n)
    asked, population : ndarray of bool, shape (n,) or (..., n), optional
        As in `pirt_score`.

    Returns
    -------
    low, high : ndarray, shape (...)
        0 and 1 for an empty population; equal when everything is observed.
    """
    observed, population = observed_mask(trials, asked, population)
    count = population.sum(axis=-1)
    passed = np.where(observed, outcome_rates(passes, trials), 0.0).sum(axis=-1)
    low = np.zeros(count.shape)
    unknown = np.ones(count.shape)
    np.divide(passed, count, out=low, where=count > 0)
    np.divide(count - observed.sum(axis=-1), count, out=unknown, where=count > 0)
    return low, np.minimum(low + unknown, 1.0)


def clip_to_feasible(
    score: NDArray[np.float64],
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Score moved into its feasible range; NaN stays NaN."""
    low, high = feasible_range(passes, trials, asked=asked, population=population)
    return np.clip(score, low, high)
