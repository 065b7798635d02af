"""Full tables of pass rates for methods that cannot work with missing cells."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.irt import pass_probability


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
    rates = pass_probability(ability[:, np.newaxis], difficulty)
    np.divide(passes, trials, out=rates, where=trials > 0)
    return rates
