"""The questions an adaptive session can ask, in the order in which ties break."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.ability import checked_prior, slopes_of
from recurring_eval.calibration.models import Model
from recurring_eval.errors import InputError
from recurring_eval.irt import mirt_logit
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
    position : dict
        Place of each id in `ids`.
    """

    model: Model
    ids: tuple[str, ...]
    order: NDArray[np.intp]
    slopes: Floats
    squares: Floats
    difficulty: Floats
    prior_mean: Floats
    prior_precision: float
    position: dict[str, int] = field(repr=False)

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
        position={question: i for i, question in enumerate(ids)},
    )


def logits(questions: AskableQuestions, theta: Floats) -> Floats:
    """Logit of a pass of every question, (m, n), for abilities (m, d)."""
    return mirt_logit(theta, questions.slopes, questions.difficulty)


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
