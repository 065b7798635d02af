"""The questions an adaptive session can ask, in the order in which ties break."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.irt import sigmoid
from recurring_eval.mirt_ability import checked_prior
from recurring_eval.validation import order_by_id

Floats = NDArray[np.float64]
Model = RaschModel | MirtModel


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
    if isinstance(model, MirtModel):
        slopes = model.discrimination
        mean, precision = checked_prior(model, prior_mean, prior_precision)
    else:
        slopes = np.ones((model.n_questions, 1))
        mean, precision = _rasch_prior(model, prior_mean, prior_precision)
    order = _priority(model, tie_order)
    slopes = np.ascontiguousarray(slopes[order])
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
    # One product per run: a joint one would round a run by its neighbours.
    products = np.matmul(questions.slopes, theta[..., np.newaxis])[..., 0]
    return np.asarray(products - questions.difficulty)


def verdict_variance(questions: AskableQuestions, theta: Floats) -> Floats:
    """p(1 - p) of every question for each of m runs, (m, n)."""
    x = logits(questions, theta)
    return np.asarray(sigmoid(x) * sigmoid(-x))


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


def _rasch_prior(
    model: RaschModel, prior_mean: ArrayLike | None, prior_precision: float | None
) -> tuple[Floats, float]:
    mean = np.asarray(model.prior_mean if prior_mean is None else prior_mean, dtype=np.float64)
    precision = model.prior_precision if prior_precision is None else prior_precision
    if mean.size != 1 or not np.isfinite(mean).all() or not 0 < precision < np.inf:
        raise InputError(
            f"the ability prior has mean {mean} and precision {precision}; "
            "give one finite mean and a positive precision"
        )
    return mean.reshape(1), precision
