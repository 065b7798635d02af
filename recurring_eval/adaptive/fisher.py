"""Fisher information: ask where the Rasch model is least certain of the verdict."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.adaptive.questions import AskableQuestions, Floats
from recurring_eval.adaptive.ties import first_best
from recurring_eval.irt import item_information


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
