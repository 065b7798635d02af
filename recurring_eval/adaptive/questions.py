"""Questions an adaptive run can ask, and its ability and score given the answers (p-IRT)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.ability import checked_prior, posterior_information, posterior_modes, slopes_of
from recurring_eval.calibration.models import Model
from recurring_eval.errors import InputError
from recurring_eval.estimators.score import score_with_predictions, variance_of_score
from recurring_eval.irt import item_information, mirt_logit, sigmoid
from recurring_eval.records import AbilityEstimate, Scores
from recurring_eval.validation import order_by_id

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskableQuestions:
    """Parameters of the questions and the ability prior, ready to ask.

    Attributes
    ----------
    model : RaschModel or MirtModel
    ids : tuple of str
        In priority order: of equally good questions the first is asked.
    order : ndarray of intp, shape (n,)
        ``ids[i]`` is the model's question ``order[i]``.
    slopes : ndarray, shape (n, d)
        Ones, with d = 1, for a Rasch model.
    squares : ndarray, shape (n, d * d)
        Outer products of the slopes.
    difficulty : ndarray, shape (n,)
    prior_mean : ndarray, shape (d,)
    prior_precision : float
    """

    model: Model
    ids: tuple[str, ...]
    order: NDArray[np.intp]
    slopes: Floats
    squares: Floats
    difficulty: Floats
    prior_mean: Floats
    prior_precision: float

    @property
    def n_questions(self) -> int:
        """Number of questions, n."""
        return len(self.ids)


def askable_questions(
    model: Model,
    *,
    prior_mean: ArrayLike | None = None,
    prior_precision: float | None = None,
    tie_order: ArrayLike | None = None,
) -> AskableQuestions:
    """Prepare a fitted model for asking.

    Parameters
    ----------
    model : RaschModel or MirtModel
    prior_mean : array_like, shape (d,), or float for a Rasch model, optional
    prior_precision : float, optional
        The prior of the run's ability, by default the model's, weak and around recent runs.
        Zeros with precision one are the papers' N(0, I).
    tie_order : array_like of int, shape (n,), optional
        Rank of each of the model's questions among equally good ones, a
        permutation of 0..n-1; by default the order of their ids.

    Raises
    ------
    InputError
        The prior or the ranks do not fit the model.
    """
    mean, precision = checked_prior(model, prior_mean, prior_precision)
    order = _priority(model, tie_order)
    slopes = np.ascontiguousarray(slopes_of(model)[order])
    ids = tuple(model.question_ids[i] for i in order)
    return AskableQuestions(
        model=model,
        ids=ids,
        order=order,
        slopes=slopes,
        squares=(slopes[:, :, np.newaxis] * slopes[:, np.newaxis]).reshape(len(ids), -1),
        difficulty=model.difficulty[order],
        prior_mean=mean,
        prior_precision=precision,
    )


def logits(questions: AskableQuestions, theta: Floats) -> Floats:
    """Logit of a pass of every question, (m, n), for abilities (m, d)."""
    return mirt_logit(theta, questions.slopes, questions.difficulty)


def verdict_variance(questions: AskableQuestions, theta: Floats) -> Floats:
    """p(1 - p) of every question for each of m runs, (m, n)."""
    return item_information(logits(questions, theta), 0.0)


def _priority(model: Model, tie_order: ArrayLike | None) -> NDArray[np.intp]:
    if tie_order is None:
        return order_by_id(model.question_ids)
    ranks = np.asarray(tie_order)
    if not np.array_equal(np.sort(ranks), np.arange(model.n_questions)):
        raise InputError(
            f"`tie_order` must hold each of 0..{model.n_questions - 1} once, "
            "the rank of every question of the model"
        )
    return np.argsort(ranks).astype(np.intp)


def estimate_scores(
    questions: AskableQuestions,
    answered: NDArray[np.intp],
    passes: Floats,
    trials: Floats,
    population: NDArray[np.bool_],
) -> Scores:
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
    n_observed = np.count_nonzero(trials, axis=1)
    return Scores(
        pass_rate=score_with_predictions(
            sigmoid(logits(questions, theta)), full_passes, full_trials, population=population
        ),
        model_sd=variance.model_sd,
        rerun_variance=variance.rerun_variance,
        ability=tuple(
            AbilityEstimate(theta=at, covariance=covariance, n_observed=int(n))
            for at, covariance, n in zip(theta, variance.covariance, n_observed, strict=True)
        ),
        fingerprint=questions.model.fingerprint,
        extrapolating=np.zeros(len(theta), dtype=np.bool_),
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
