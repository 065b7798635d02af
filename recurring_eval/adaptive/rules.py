"""Choice of the next questions: Fisher information, D-optimality, and equals by their order."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import covariance_after
from recurring_eval.adaptive.questions import AskableQuestions, Floats, verdict_variance
from recurring_eval.irt import item_information

EQUAL: Final = 1e-9
"""Criteria closer than this, relatively, are equal."""


def first_best(criterion: NDArray[np.float64], available: NDArray[np.bool_]) -> NDArray[np.intp]:
    """First available question whose criterion equals the row's largest.

    Parameters
    ----------
    criterion : ndarray, shape (m, n)
        Not negative.
    available : ndarray of bool, shape (m, n)
        At least one per row.

    Returns
    -------
    ndarray of intp, shape (m,)
    """
    offered = np.where(available, criterion, -1.0)
    best = offered.max(axis=1, keepdims=True)
    return np.asarray((offered >= best * (1.0 - EQUAL)).argmax(axis=1))


def choose_by_information(
    questions: AskableQuestions,
    theta: Floats,
    information: Floats,  # noqa: ARG001  every rule takes it; this one needs theta alone
    available: NDArray[np.bool_],
    n: int,
) -> NDArray[np.intp]:
    """Choose the n available questions with the largest p(1 - p).

    Parameters
    ----------
    questions : AskableQuestions
        Of a Rasch model.
    theta : ndarray, shape (m, 1)
        Ability of each run.
    information : ndarray, shape (m, 1, 1)
        Not needed: information about one ability grows by the question's own.
    available : ndarray of bool, shape (m, N)
        At least n per row.
    n : int

    Returns
    -------
    ndarray of intp, shape (m, n)
        Positions among `questions`, best first.

    References
    ----------
    She & Lin 2026, Rasch adaptive testing.
    """
    weight = item_information(theta, questions.difficulty)
    chosen = np.empty((len(theta), n), dtype=np.intp)
    left = available.copy()
    rows = np.arange(len(theta))
    for i in range(n):
        chosen[:, i] = first_best(weight, left)
        left[rows, chosen[:, i]] = False
    return chosen


def choose_d_optimal(
    questions: AskableQuestions,
    theta: Floats,
    information: Floats,
    available: NDArray[np.bool_],
    n: int,
) -> NDArray[np.intp]:
    r"""Choose greedily the n available questions with the largest :math:`w\,\alpha^T I^{-1}\alpha`.

    With :math:`w = p(1 - p)` this is what maximises
    :math:`\det(I + w\,\alpha\alpha^T)`. After each choice I grows by the chosen
    question's expected information, at the same ability: no verdict is known yet.

    Parameters
    ----------
    questions : AskableQuestions
    theta : ndarray, shape (m, d)
        Abilities of each run.
    information : ndarray, shape (m, d, d)
        Posterior information I, the prior's precision included.
    available : ndarray of bool, shape (m, N)
        At least n per row.
    n : int

    Returns
    -------
    ndarray of intp, shape (m, n)
        Positions among `questions`, in the order of choice.

    References
    ----------
    She & Lin 2026, multidimensional adaptive testing; Lindley-Segall D-rule.
    """
    weight = verdict_variance(questions, theta)
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    chosen = np.empty((len(theta), n), dtype=np.intp)
    left = available.copy()
    rows = np.arange(len(theta))
    for i in range(n):
        criterion = d_criterion(questions, weight, covariance)
        chosen[:, i] = best = first_best(criterion, left)
        left[rows, best] = False
        covariance = covariance_after(covariance, questions.slopes[best], weight[rows, best])
    return chosen


def d_criterion(questions: AskableQuestions, weight: Floats, covariance: Floats) -> Floats:
    r""":math:`w_j\,\alpha_j^T I^{-1}\alpha_j` of every question, (m, n)."""
    packed = covariance.reshape(len(covariance), -1, 1)
    return np.asarray(weight * np.matmul(questions.squares, packed)[..., 0])
