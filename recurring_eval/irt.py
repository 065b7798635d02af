"""Curves of the logistic models: pure functions of ability and difficulty, in logits."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from recurring_eval.response_matrix import outcome_rates


def sigmoid(x: ArrayLike) -> NDArray[np.float64]:
    """Logistic function ``1 / (1 + exp(-x))``, stable for every finite `x`."""
    return np.asarray(special.expit(np.asarray(x, dtype=np.float64)))


def logit(p: ArrayLike) -> NDArray[np.float64]:
    """Inverse of `sigmoid`; -inf at 0, inf at 1, NaN outside [0, 1]."""
    return np.asarray(special.logit(np.asarray(p, dtype=np.float64)))


def smoothed_logit(passes: ArrayLike, trials: ArrayLike) -> NDArray[np.float64]:
    """Logit of the Jeffreys-smoothed pass rate, ``(passes + 1/2) / (trials + 1)``; finite."""
    return logit((np.asarray(passes) + 0.5) / (np.asarray(trials) + 1.0))


def pass_probability(ability: ArrayLike, difficulty: ArrayLike) -> NDArray[np.float64]:
    r"""Probability of a pass, :math:`\sigma(\theta - \beta)`.

    Parameters
    ----------
    ability, difficulty : array_like
        In logits; broadcast against each other, so ``ability[:, np.newaxis]``
        with ``difficulty`` of shape (n,) gives the (m, n) table.

    Returns
    -------
    ndarray
        Of the broadcast shape, in [0, 1].
    """
    return sigmoid(np.subtract(ability, difficulty, dtype=np.float64))


def item_information(ability: ArrayLike, difficulty: ArrayLike) -> NDArray[np.float64]:
    r"""Fisher information of one trial about ability, :math:`p(1 - p)`.

    Arguments broadcast as in `pass_probability`. Computed as
    :math:`\sigma(x)\sigma(-x)`, which keeps its precision in both tails.
    """
    x = np.subtract(ability, difficulty, dtype=np.float64)
    return sigmoid(x) * sigmoid(-x)


def mirt_pass_probability(
    ability: ArrayLike, discrimination: ArrayLike, difficulty: ArrayLike
) -> NDArray[np.float64]:
    r"""Probability of a pass, :math:`\sigma(\alpha^T\theta - \beta)`.

    Parameters
    ----------
    ability : array_like, shape (..., d)
    discrimination : array_like, shape (n, d), or (..., n, d) for questions of each run's own
    difficulty : array_like, shape (n,) or (..., n)
        An intercept, in logits.

    Returns
    -------
    ndarray, shape (..., n)
        In [0, 1].
    """
    return sigmoid(mirt_logit(ability, discrimination, difficulty))


def mirt_logit(
    ability: ArrayLike, discrimination: ArrayLike, difficulty: ArrayLike
) -> NDArray[np.float64]:
    """Logit of `mirt_pass_probability`; each run's depends on its own ability only."""
    # One product per run: a joint one would round a run by its neighbours.
    theta = np.asarray(ability, dtype=np.float64)[..., np.newaxis]
    return np.asarray(np.matmul(discrimination, theta)[..., 0] - difficulty)


def imputed_rates(
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    ability: NDArray[np.float64],
    difficulty: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Pass rates of every cell, the missing ones predicted by ability and difficulty.

    A missing cell is never a fail: it gets the Rasch model's probability of a pass.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (m, n)
    ability : ndarray, shape (m,)
    difficulty : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (m, n)
    """
    predicted = pass_probability(ability[:, np.newaxis], difficulty)
    return outcome_rates(passes, trials, missing=predicted)
