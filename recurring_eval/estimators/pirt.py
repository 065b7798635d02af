"""p-IRT: observed outcomes, and the model's prediction for everything else."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.estimators.outcomes import observed_mask, outcome_rates
from recurring_eval.irt import pass_probability


def pirt_score(
    model: RaschModel,
    ability: float | NDArray[np.float64],
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Mean over the population of observed outcomes and predicted ones, plug-in form.

    ``(sum_observed y + sum_rest p(ability)) / |population|``. Exact when
    everything is observed, and always inside the feasible range.

    Parameters
    ----------
    model : RaschModel
        n questions.
    ability : float or ndarray, shape (...)
        Ability of each run.
    passes, trials : ndarray of int, shape (..., n)
        Verdict counts, aligned with the model's questions.
    asked : ndarray of bool, shape (n,) or (..., n), optional
        Questions whose verdicts may be used; by default all. An asked question
        without a valid verdict is predicted.
    population : ndarray of bool, shape (n,) or (..., n), optional
        Questions the score is the mean of; by default all.

    Returns
    -------
    ndarray, shape (...)
        NaN for an empty population.

    References
    ----------
    Maia Polo et al. 2024 (tinyBenchmarks), p-IRT with the unweighted mean.
    """
    observed, population = observed_mask(trials, asked, population)
    predicted = pass_probability(np.asarray(ability)[..., np.newaxis], model.difficulty)
    values = np.where(observed, outcome_rates(passes, trials), predicted)
    count = population.sum(axis=-1)
    score = np.full(count.shape, np.nan)
    total = np.where(population, values, 0.0).sum(axis=-1)
    np.divide(total, count, out=score, where=count > 0)
    return np.minimum(score, 1.0)
