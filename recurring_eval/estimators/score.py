"""Score of a run from its verdicts: feasible range, weighted mean, p-IRT and its variance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.calibration.models import Model, RaschModel
from recurring_eval.irt import item_information, mirt_pass_probability, pass_probability
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


Floats = NDArray[np.float64]


def pirt_score(
    model: Model,
    ability: ArrayLike,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> Floats:
    """Mean over the population of observed outcomes and predicted ones, plug-in form.

    ``(sum_observed y + sum_rest p(ability)) / |population|``. Exact when
    everything is observed, and always inside the feasible range.

    Parameters
    ----------
    model : RaschModel or MirtModel
        n questions.
    ability : array_like, shape (...) for a Rasch model, else (..., d)
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
    if isinstance(model, RaschModel):
        predicted = pass_probability(np.asarray(ability)[..., np.newaxis], model.difficulty)
    else:
        predicted = mirt_pass_probability(ability, model.discrimination, model.difficulty)
    return score_with_predictions(predicted, passes, trials, asked=asked, population=population)


def score_with_predictions(
    predicted: Floats,
    passes: NDArray[np.number],
    trials: NDArray[np.number],
    *,
    asked: NDArray[np.bool_] | None = None,
    population: NDArray[np.bool_] | None = None,
) -> Floats:
    """p-IRT for predicted pass rates (..., n) of any origin, as in `pirt_score`."""
    observed, population = observed_mask(trials, asked, population)
    values = np.where(observed, outcome_rates(passes, trials), predicted)
    total = np.where(population, values, 0.0).sum(axis=-1)
    return np.minimum(outcome_rates(total, population.sum(axis=-1), missing=np.nan), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreVariance:
    """Variance of a p-IRT score under its model, one entry per run.

    Attributes
    ----------
    model_sd : ndarray, shape (...)
        u, standard deviation of the score given what was observed.
    rerun_variance : ndarray, shape (...)
        What a rerun adds to the squared model sd; may be negative.
    covariance : ndarray, shape (..., d, d)
        B, the inverse posterior information of ability.
    """

    model_sd: Floats
    rerun_variance: Floats
    covariance: Floats


def score_variance(
    model: RaschModel,
    ability: ArrayLike,
    trials: NDArray[np.integer],
    *,
    population: NDArray[np.bool_] | None = None,
) -> ScoreVariance:
    """Variance of a score under the Rasch model at the estimated ability.

    Parameters
    ----------
    model : RaschModel
    ability : array_like, shape (...)
    trials : ndarray of int, shape (..., n)
        Verdicts behind the ability.
    population : ndarray of bool, shape (n,) or (..., n), optional
        Questions the score is the mean of; by default all.
    """
    used = trials > 0
    _, inside = observed_mask(trials, None, population)
    information = item_information(np.asarray(ability)[..., np.newaxis], model.difficulty)
    posterior = model.prior_precision + np.where(used, trials * information, 0.0).sum(axis=-1)
    covariance = np.asarray(1.0 / posterior)[..., np.newaxis, np.newaxis]
    return variance_of_score(information, used, inside, covariance)


def variance_of_score(
    outcome_variance: Floats,
    used: NDArray[np.bool_],
    population: NDArray[np.bool_],
    covariance: Floats,
    *,
    slopes: Floats | None = None,
) -> ScoreVariance:
    r"""Variance of a p-IRT score by the delta method.

    With :math:`V_A` and :math:`V_U` the sums of p(1 - p) over the observed and unobserved
    questions of the population and :math:`g = \sum p(1 - p)\,\alpha` over each, the squared
    model sd is :math:`(V_U + g_U^T B g_U) / N^2`, and a rerun adds
    :math:`(V_A - V_U + 2 g_U^T B g_A) / N^2`.

    Parameters
    ----------
    outcome_variance : ndarray, shape (..., n)
        p(1 - p) of each question at the estimated ability.
    used, population : ndarray of bool, shape (..., n)
        Questions whose verdicts were used, and those the score is the mean of.
    covariance : ndarray, shape (..., d, d)
        B.
    slopes : ndarray, shape (n, d), optional
        Discriminations; ones, with d = 1, by default.
    """
    seen = np.where(used & population, outcome_variance, 0.0)
    unseen = np.where(population & ~used, outcome_variance, 0.0)
    v_seen, v_unseen = seen.sum(axis=-1), unseen.sum(axis=-1)
    if slopes is None:
        by_seen, by_unseen = v_seen[..., np.newaxis], v_unseen[..., np.newaxis]
    else:
        # One product per run: a joint one would round a run by its neighbours.
        by_seen, by_unseen = (
            np.matmul(sums[..., np.newaxis, :], slopes)[..., 0, :] for sums in (seen, unseen)
        )
    column = by_unseen[..., :, np.newaxis]
    carried = (covariance * (column * by_unseen[..., np.newaxis, :])).sum(axis=(-2, -1))
    crossed = (2.0 * column * covariance * by_seen[..., np.newaxis, :]).sum(axis=(-2, -1))
    size = np.maximum(population.sum(axis=-1), 1)
    return ScoreVariance(
        model_sd=np.asarray(np.sqrt(v_unseen + carried) / size),
        rerun_variance=np.asarray((v_seen - v_unseen + crossed) / size**2),
        covariance=covariance,
    )
