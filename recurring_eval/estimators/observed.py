"""What a run answered, seen from an estimator."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.response_matrix import outcome_rates


def observed_mask(
    trials: NDArray[np.number],
    asked: NDArray[np.bool_] | None,
    population: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Observed questions and the population, both in the shape of `trials`.

    Observed means asked, with a valid verdict, and part of the population.
    """
    population = np.broadcast_to(True if population is None else population, trials.shape)
    observed = (trials > 0) & population
    return (observed if asked is None else observed & asked), population


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
    low = outcome_rates(passed, count)
    unknown = outcome_rates(count - observed.sum(axis=-1), count, missing=1.0)
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


def weighted_score(
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    weights: NDArray[np.float64],
    *,
    population: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Weighted mean of passes/trials over the chosen questions with a valid verdict.

    A chosen question without a valid verdict is dropped and the weights are
    renormalised; counting it as a fail would cost 2-3 percentage points.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (..., n)
        Verdict counts of one or more runs.
    weights : ndarray, shape (n,) or (..., n)
        Share of the bank each question stands for; zero where not chosen.
    population : ndarray of bool, shape (n,) or (..., n), optional
        Questions the score is the mean of; by default all.

    Returns
    -------
    ndarray, shape (...)
        NaN for a run without a valid verdict on any chosen question.

    References
    ----------
    She and Lin 2026, section 3 (difficulty stratification).
    """
    valid = (trials > 0) if population is None else (trials > 0) & population
    used = np.where(valid, weights, 0.0)
    total = (used * outcome_rates(passes, trials)).sum(axis=-1)
    return np.minimum(outcome_rates(total, used.sum(axis=-1), missing=np.nan), 1.0)
