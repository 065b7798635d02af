"""What an adaptive session says about the full score: p-IRT at the estimated ability."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.adaptive.questions import AskableQuestions, Floats, logits, verdict_variance
from recurring_eval.irt import sigmoid
from recurring_eval.posterior import posterior_information, posterior_modes


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveEstimates:
    """Estimated full pass rates of m runs.

    Attributes
    ----------
    pass_rate : ndarray, shape (m,)
        Fractions; NaN for an empty population.
    model_sd : ndarray, shape (m,)
        Standard deviation of the score under the model, given what was observed.
    rerun_variance : ndarray, shape (m,)
        Added to ``model_sd ** 2`` it gives the variance about the agent's expected
        score, that is, about the same agent run again; may be negative.
    theta : ndarray, shape (m, d)
    covariance : ndarray, shape (m, d, d)
        Inverse posterior information.
    n_valid : ndarray of intp, shape (m,)
        Questions answered with a valid verdict.
    """

    pass_rate: Floats
    model_sd: Floats
    rerun_variance: Floats
    theta: Floats
    covariance: Floats
    n_valid: NDArray[np.intp]


def estimate_scores(
    questions: AskableQuestions,
    answered: NDArray[np.intp],
    passes: Floats,
    trials: Floats,
    population: NDArray[np.bool_],
) -> AdaptiveEstimates:
    r"""Plug-in estimates :math:`(\sum_C y + \sum_U p(\hat\theta)) / N` of m runs.

    Exact, with zero model sd, when the whole population is answered.

    Parameters
    ----------
    questions : AskableQuestions
    answered : ndarray of intp, shape (m, t)
        Positions of distinct questions with a valid verdict.
    passes, trials : ndarray of float, shape (m, t)
        Their verdict counts; where ``trials == 0`` a position is ignored.
    population : ndarray of bool, shape (m, n)
        Questions each score is the mean of.
    """
    theta, information = posterior_of(questions, answered, passes, trials)
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    values = sigmoid(logits(questions, theta))
    observed = np.zeros(values.shape, dtype=np.bool_)
    rows, columns = np.nonzero(trials)
    places = answered[rows, columns]
    observed[rows, places] = True
    values[rows, places] = passes[rows, columns] / trials[rows, columns]
    count = population.sum(axis=1)
    total = np.where(population, values, 0.0).sum(axis=1)
    score = np.full(len(theta), np.nan)
    np.divide(total, count, out=score, where=count > 0)
    weight = verdict_variance(questions, theta)
    unseen = np.where(population & ~observed, weight, 0.0)
    seen = np.where(population & observed, weight, 0.0)
    by_unseen, by_seen = _products(unseen, questions.slopes), _products(seen, questions.slopes)
    carried = np.matmul(covariance, by_unseen[..., np.newaxis])[..., 0]
    size = np.maximum(count, 1)
    variance = unseen.sum(axis=1) + (carried * by_unseen).sum(axis=1)
    added = seen.sum(axis=1) - unseen.sum(axis=1) + 2.0 * (carried * by_seen).sum(axis=1)
    return AdaptiveEstimates(
        pass_rate=np.minimum(score, 1.0),
        model_sd=np.sqrt(variance) / size,
        rerun_variance=added / size**2,
        theta=theta,
        covariance=covariance,
        n_valid=np.count_nonzero(trials, axis=1).astype(np.intp),
    )


def posterior_of(
    questions: AskableQuestions, answered: NDArray[np.intp], passes: Floats, trials: Floats
) -> tuple[Floats, Floats]:
    """Posterior mode (m, d) and information (m, d, d), from the answers alone."""
    slopes, difficulty = questions.slopes[answered], questions.difficulty[answered]
    theta = posterior_modes(
        slopes,
        difficulty,
        passes,
        trials,
        prior_mean=questions.prior_mean,
        prior_precision=questions.prior_precision,
    )
    information = posterior_information(
        theta, slopes, difficulty, trials, questions.prior_precision
    )
    return theta, information


def _products(vectors: Floats, matrix: Floats) -> Floats:
    # One product per run: a joint one would round a run by its neighbours.
    return np.asarray(np.matmul(vectors[:, np.newaxis], matrix)[:, 0])
