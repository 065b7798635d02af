"""Sharing a number of questions out in proportion to the sizes of groups."""

import numpy as np
from numpy.typing import NDArray


def proportional_quotas(sizes: NDArray[np.integer], k: int) -> NDArray[np.int64]:
    """Quotas that sum to k, by largest remainders in integer arithmetic, shape of `sizes`.

    A quota is at most its group's size; of equal remainders the first group
    is served first.

    Parameters
    ----------
    sizes : ndarray of int, shape (g,)
    k : int
        At most the sum of the sizes.
    """
    counts = np.asarray(sizes, dtype=np.int64)
    quotas, remainders = np.divmod(counts * k, max(int(counts.sum()), 1))
    for group in np.argsort(-remainders, kind="stable")[: k - int(quotas.sum())]:
        quotas[group] += 1
    return quotas
