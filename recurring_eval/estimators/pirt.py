"""p-IRT: observed outcomes, and the model's prediction for everything else."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.estimators.observed import observed_mask, outcome_rates
from recurring_eval.irt import item_information, pass_probability


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreVariance:
    """Model variance of sums of outcomes, split into observed and unobserved questions.

    Each attribute has shape (...): one entry per run.

    Attributes
    ----------
    observed, unobserved : ndarray
        V_A and V_U, sums of p(1 - p). In the Rasch model they are also the
        derivatives g_A and g_U of the expected sums by ability.
    ability_variance : ndarray
        B, the inverse posterior information of ability.
    n_questions : ndarray of int
        Size of the population.
    """

    observed: NDArray[np.float64]
    unobserved: NDArray[np.float64]
    ability_variance: NDArray[np.float64]
    n_questions: NDArray[np.int64]

    @property
    def model_sd(self) -> NDArray[np.float64]:
        """u, standard deviation of the score given what was observed."""
        total = self.unobserved + self.ability_variance * self.unobserved**2
        sd: NDArray[np.float64] = np.sqrt(total) / np.maximum(self.n_questions, 1)
        return sd

    @property
    def rerun_variance(self) -> NDArray[np.float64]:
        """What a rerun adds to the squared model sd; may be negative."""
        crossed = 2.0 * self.unobserved * self.ability_variance * self.observed
        added = self.observed - self.unobserved + crossed
        return np.asarray(added / np.maximum(self.n_questions, 1) ** 2)


def score_variance(
    model: RaschModel,
    ability: float | NDArray[np.float64],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> ScoreVariance:
    """Variance of a score under the Rasch model at the estimated ability.

    Parameters
    ----------
    model : RaschModel
    ability : float or ndarray, shape (...)
    trials : ndarray of int, shape (..., n)
    asked, population : ndarray of bool, shape (n,) or (..., n), optional
        Questions whose verdicts were used, and those the score is the mean
        of; by default all.
    """
    used, _ = observed_mask(trials, asked, None)
    _, inside = observed_mask(trials, asked, population)
    information = item_information(np.asarray(ability)[..., np.newaxis], model.difficulty)
    posterior = model.prior_precision + np.where(used, trials * information, 0.0).sum(axis=-1)
    return ScoreVariance(
        observed=np.where(used & inside, information, 0.0).sum(axis=-1),
        unobserved=np.where(inside & ~used, information, 0.0).sum(axis=-1),
        ability_variance=np.asarray(1.0 / posterior),
        n_questions=np.asarray(inside.sum(axis=-1), dtype=np.int64),
    )
