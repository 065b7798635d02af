"""What an estimator may look at: the verdicts of some runs and the calibration."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import estimate_abilities
from recurring_eval.caching import Cache
from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.estimators import GpirtConstants, ScoreVariance, score_variance
from recurring_eval.records import Subset


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Verdicts of m runs on the asked questions, aligned with a model's n questions.

    Attributes
    ----------
    model : RaschModel
    passes, trials : ndarray of int, shape (m, n)
        Zero outside the asked questions.
    weights : ndarray, shape (n,) or (m, n)
        Share of the bank each asked question stands for, else zero.
    asked : ndarray of bool, shape (n,) or (m, n)
    population : ndarray of bool, shape (m, n)
        Questions the score is the mean of.
    ability : ndarray, shape (m,)
    gpirt : GpirtConstants or None
    cache : Cache or None
    """

    model: RaschModel
    passes: NDArray[np.integer]
    trials: NDArray[np.integer]
    weights: NDArray[np.float64]
    asked: NDArray[np.bool_]
    population: NDArray[np.bool_]
    ability: NDArray[np.float64]
    gpirt: GpirtConstants | None
    cache: Cache | None

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Asked questions of the population with a valid verdict, shape (m, n)."""
        return (self.trials > 0) & self.population

    def variance(self) -> ScoreVariance:
        """Model variance of each run's score."""
        return score_variance(self.model, self.ability, self.trials, population=self.population)


def gather_evidence(
    model: RaschModel,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    weights: NDArray[np.float64],
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
    gpirt: GpirtConstants | None = None,
    cache: Cache | None = None,
) -> Evidence:
    """Hide the verdicts that were not asked for and estimate abilities from the rest.

    Where every question of a run's population was asked, the population
    becomes those with a valid verdict: a full run's score is their mean.

    Parameters
    ----------
    model : RaschModel
    passes, trials : ndarray of int, shape (m, n)
    weights : ndarray, shape (n,) or (m, n)
    asked : ndarray of bool, shape (n,) or (m, n), optional
        By default the questions with a positive weight.
    population : ndarray of bool, shape (n,) or (m, n), optional
        By default the whole bank.
    gpirt, cache : optional
    """
    asked = weights > 0 if asked is None else asked
    valid = (trials > 0) & asked
    inside = np.broadcast_to(np.True_ if population is None else population, trials.shape)
    all_asked = (asked | ~inside).all(axis=-1, keepdims=True)
    seen_passes = np.where(valid, passes, 0)
    seen_trials = np.where(valid, trials, 0)
    return Evidence(
        model=model,
        passes=seen_passes,
        trials=seen_trials,
        weights=weights,
        asked=asked,
        population=np.where(all_asked, inside & valid, inside),
        ability=estimate_abilities(model, seen_passes, seen_trials),
        gpirt=gpirt,
        cache=cache,
    )


def aligned_weights(model: RaschModel, subset: Subset) -> NDArray[np.float64]:
    """Weights of a subset in the order of the model's questions, zero elsewhere, shape (n,).

    Raises
    ------
    InputError
        If the model does not know a question of the subset.
    """
    position = {question: j for j, question in enumerate(model.question_ids)}
    unknown = [question for question in subset.question_ids if question not in position]
    if unknown:
        raise InputError(
            f"the calibration does not know {len(unknown)} of the subset's {subset.k} questions, "
            f"first {unknown[0]!r}; use the calibration under which the subset was published"
        )
    weights = np.zeros(model.n_questions)
    weights[[position[question] for question in subset.question_ids]] = subset.weights
    return weights
