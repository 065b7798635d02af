"""Ability and full score of adaptive runs, given their answers: p-IRT at the posterior mode."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import posterior_information, posterior_modes
from recurring_eval.adaptive.questions import AskableQuestions, Floats, logits
from recurring_eval.adaptive.rules import verdict_variance
from recurring_eval.estimators.score import score_with_predictions, variance_of_score
from recurring_eval.irt import sigmoid


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
    full_passes, full_trials = np.zeros((2, *population.shape))
    rows, columns = np.nonzero(trials)
    full_passes[rows, answered[rows, columns]] = passes[rows, columns]
    full_trials[rows, answered[rows, columns]] = trials[rows, columns]
    variance = variance_of_score(
        verdict_variance(questions, theta),
        full_trials > 0,
        population,
        np.asarray(np.linalg.inv(information), dtype=np.float64),
        slopes=questions.slopes,
    )
    return AdaptiveEstimates(
        pass_rate=score_with_predictions(
            sigmoid(logits(questions, theta)), full_passes, full_trials, population=population
        ),
        model_sd=variance.model_sd,
        rerun_variance=variance.rerun_variance,
        theta=theta,
        covariance=variance.covariance,
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
