"""Random questions inside strata of the historical pass rate."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.proportional import proportional_quotas
from recurring_eval.validation import require_subset_size

N_STRATA: Final = 10


def pass_rate_strata(
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    k: int,
    *,
    n_strata: int = N_STRATA,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Weights of k questions drawn inside strata of near-equal size, shape (n,).

    Questions are ordered by their share of passes, equal shares at random, and
    cut as numpy.array_split does. Each stratum gets its proportional part of k,
    rounded by largest remainders, and every drawn question stands for an equal
    part of its stratum.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (n,)
        Totals of the history by question. A question without a verdict counts
        as passed half of the time.
    k : int
        ``1 <= k <= n``.
    n_strata : int, optional
        At most this many; never more than k, so that none stays empty.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n,)
        Zero where not drawn; sums to 1.

    References
    ----------
    The "Stratified" baseline of HSPR; its recipe is not published.
    """
    n = len(passes)
    require_subset_size(k, n)
    # One correctly rounded division: equal fractions are equal floats.
    share = np.divide(passes, trials, out=np.full(n, 0.5), where=trials > 0)
    order = np.lexsort((rng.permutation(n), share))
    strata = np.array_split(order, min(n_strata, k))
    quotas = proportional_quotas(np.array([len(stratum) for stratum in strata]), k)
    weights = np.zeros(n)
    for stratum, quota in zip(strata, quotas, strict=True):
        drawn = rng.permutation(stratum)[:quota]
        weights[drawn] = len(stratum) / (n * quota)
    return weights
