"""Weighted mean of the chosen questions' outcomes."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.estimators.outcomes import outcome_rates


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
    total = used.sum(axis=-1)
    score = np.full(total.shape, np.nan)
    np.divide(
        (used * outcome_rates(passes, trials)).sum(axis=-1), total, out=score, where=total > 0
    )
    return np.minimum(score, 1.0)
