"""D-optimal choice: ask what adds most to the determinant of the information."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import covariance_after
from recurring_eval.adaptive.questions import AskableQuestions, Floats, logits
from recurring_eval.adaptive.ties import first_best
from recurring_eval.irt import sigmoid


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


def verdict_variance(questions: AskableQuestions, theta: Floats) -> Floats:
    """p(1 - p) of every question for each of m runs, (m, n)."""
    x = logits(questions, theta)
    return np.asarray(sigmoid(x) * sigmoid(-x))
