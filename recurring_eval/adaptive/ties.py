"""Picking the best question so that rounding does not decide between equals."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

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
