"""What an estimator sees: the verdicts of some runs on the asked questions, and a calibration."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import estimate_abilities
from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.estimators import score_variance
from recurring_eval.methods.calibration import Calibration
from recurring_eval.records import AbilityEstimate, Scores, Subset


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Verdicts of m runs on the asked questions, aligned with a calibration's n questions.

    Attributes
    ----------
    calibration : Calibration
    passes, trials : ndarray of int, shape (m, n)
        Zero outside the asked questions.
    weights : ndarray, shape (n,) or (m, n), or None
        Share of the bank each asked question of a fixed design stands for, else zero; None
        where the questions were chosen step by step.
    population : ndarray of bool, shape (m, n)
        Questions the score is the mean of.
    n_asked : ndarray of intp, shape (m,)
        Questions asked of those the score was to be the mean of, with a valid verdict or not.
    ability : ndarray, shape (m,)
        Of the Rasch model.
    """

    calibration: Calibration
    passes: NDArray[np.integer]
    trials: NDArray[np.integer]
    weights: NDArray[np.float64] | None
    population: NDArray[np.bool_]
    n_asked: NDArray[np.intp]
    ability: NDArray[np.float64]

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Asked questions of the population with a valid verdict, shape (m, n)."""
        return (self.trials > 0) & self.population

    def rasch_scores(self, pass_rate: NDArray[np.float64]) -> Scores:
        """Pass rates (m,) with the variances and abilities of the Rasch model."""
        rasch = self.calibration.rasch
        variance = score_variance(rasch, self.ability, self.trials, population=self.population)
        n_observed = (self.trials > 0).sum(axis=1)
        return Scores(
            pass_rate=pass_rate,
            model_sd=variance.model_sd,
            rerun_variance=variance.rerun_variance,
            ability=tuple(
                AbilityEstimate(
                    theta=self.ability[[i]], covariance=variance.covariance[i], n_observed=int(n)
                )
                for i, n in enumerate(n_observed)
            ),
            fingerprint=rasch.fingerprint,
            extrapolating=np.zeros(len(pass_rate), dtype=np.bool_),
        )


def gather_evidence(
    calibration: Calibration,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    weights: NDArray[np.float64] | None = None,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> Evidence:
    """Hide the verdicts that were not asked for and estimate Rasch abilities from the rest.

    Where every question of a run's population was asked, the population
    becomes those with a valid verdict: a full run's score is their mean.

    Parameters
    ----------
    calibration : Calibration
    passes, trials : ndarray of int, shape (m, n)
    weights : ndarray, shape (n,) or (m, n), optional
        Of a fixed design; the asked questions are those above zero.
    asked : ndarray of bool, shape (n,) or (m, n), optional
        What was asked step by step. Without `weights` and `asked`, everything was asked.
    population : ndarray of bool, shape (n,) or (m, n), optional
        By default the whole bank.
    """
    if asked is None:
        if weights is None:
            n = calibration.n_questions
            weights = np.full(n, 1.0 / n)
        asked = weights > 0
    valid = (trials > 0) & asked
    inside = np.broadcast_to(np.True_ if population is None else population, trials.shape)
    all_asked = (asked | ~inside).all(axis=-1, keepdims=True)
    seen_passes = np.where(valid, passes, 0)
    seen_trials = np.where(valid, trials, 0)
    return Evidence(
        calibration=calibration,
        passes=seen_passes,
        trials=seen_trials,
        weights=weights,
        population=np.where(all_asked, inside & valid, inside),
        n_asked=np.asarray((asked & inside).sum(axis=-1), dtype=np.intp),
        ability=estimate_abilities(calibration.rasch, seen_passes, seen_trials),
    )


def aligned_weights(model: RaschModel, subset: Subset) -> NDArray[np.float64]:
    """Weights of a subset in the order of the model's questions, zero elsewhere, shape (n,).

    Raises
    ------
    InputError
        If the model lacks a question of the subset.
    """
    position = {question: j for j, question in enumerate(model.question_ids)}
    unknown = [question for question in subset.question_ids if question not in position]
    if unknown:
        raise InputError(
            f"the calibration lacks {len(unknown)} of the subset's {subset.k} questions, "
            f"first {unknown[0]!r}; use the calibration under which the subset was published"
        )
    weights = np.zeros(model.n_questions)
    weights[[position[question] for question in subset.question_ids]] = subset.weights
    return weights
