"""Questions an adaptive run can ask, its score given the answers (p-IRT), and whole such runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.ability import checked_prior, posterior_information, posterior_modes, slopes_of
from recurring_eval.calibration.models import Model
from recurring_eval.errors import InputError
from recurring_eval.estimators.score import score_with_predictions, variance_of_score
from recurring_eval.irt import item_information, mirt_logit, sigmoid
from recurring_eval.records import AbilityEstimate, Scores
from recurring_eval.validation import checked_counts, order_by_id, require_subset_size

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


class Choose(Protocol):
    """Chooses the next n questions for each of m runs, see `choose_d_optimal`."""

    def __call__(
        self,
        questions: AskableQuestions,
        theta: Floats,
        information: Floats,
        available: NDArray[np.bool_],
        n: int,
    ) -> NDArray[np.intp]:
        """Positions of the chosen questions, (m, n)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSessions:
    """What sessions of m known runs asked and estimated.

    Attributes
    ----------
    asked : ndarray of intp, shape (m, max(ks))
        Positions among the *model's* questions in the order asked; -1 after a run
        has no valid verdict left. Questions without a valid verdict are left out:
        a session replaces them at once and learns nothing.
    estimates : tuple of Scores
        One for each k, in the order of `ks`.
    """

    asked: NDArray[np.intp]
    estimates: tuple[Scores, ...]


def replay_sessions(
    questions: AskableQuestions,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    choose: Choose,
    ks: Sequence[int],
    population: ArrayLike | None = None,
    per_round: int = 1,
) -> ReplayedSessions:
    """Do what sessions that ask in rounds would, for many runs and ks at once.

    A session's choices do not depend on its k, so one pass serves every k. Each
    run is computed by itself.

    Parameters
    ----------
    questions : AskableQuestions
    passes, trials : array_like of int, shape (m, n)
        The runs' full verdict counts, aligned with the model's questions.
    choose : Choose
        The rule.
    ks : sequence of int
        Valid verdicts after which to estimate.
    population : array_like of bool, shape (m, n), optional
        Questions each score is the mean of; by default the run's valid ones.
    per_round : int, optional
        Questions chosen together; a round ends at each k.

    Returns
    -------
    ReplayedSessions

    Raises
    ------
    InputError
        A k is not possible, or shapes and counts are not acceptable.
    """
    passed, tried = (
        table[:, questions.order] for table in checked_counts(passes, trials, questions.n_questions)
    )
    inside = tried > 0
    if population is not None:
        inside = np.broadcast_to(np.asarray(population, dtype=np.bool_), tried.shape)
        inside = inside[:, questions.order]
    if not ks:
        raise InputError("`ks` needs at least one number of questions")
    for k in ks:
        require_subset_size(k, questions.n_questions)
    available = tried > 0
    asked = np.zeros((len(tried), max(ks)), dtype=np.intp)
    # Of the answers, in the order of asking; no trials after the last.
    asked_passes, asked_trials = np.zeros((2, *asked.shape))

    def estimates_after(n: int) -> Scores:
        return estimate_scores(
            questions, asked[:, :n], asked_passes[:, :n], asked_trials[:, :n], inside
        )

    at_k: dict[int, Scores] = {}
    n = 0
    while True:
        if n in ks:
            at_k[n] = estimates_after(n)
        rows = np.flatnonzero(available.any(axis=1))
        if n == max(ks) or not len(rows):
            break
        theta, information = posterior_of(
            questions, asked[rows, :n], asked_passes[rows, :n], asked_trials[rows, :n]
        )
        fewest_left = int(available[rows].sum(axis=1).min())
        size = min(per_round, min(k for k in ks if k > n) - n, fewest_left)
        chosen = choose(questions, theta, information, available[rows], size)
        at, steps = rows[:, np.newaxis], np.arange(n, n + size)
        available[at, chosen] = False
        asked[at, steps] = chosen
        asked_passes[at, steps], asked_trials[at, steps] = passed[at, chosen], tried[at, chosen]
        n += size
    final = estimates_after(max(ks))
    return ReplayedSessions(
        asked=np.where(asked_trials > 0, questions.order[asked], -1),
        estimates=tuple(at_k.get(k, final) for k in ks),
    )
