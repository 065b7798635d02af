"""Random subsets: of the whole bank, and inside strata of the historical pass rate."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.records import Subset
from recurring_eval.response_matrix import outcome_rates
from recurring_eval.subsets.stratified import subset_of
from recurring_eval.validation import order_by_id, require_subset_size


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


RANDOM: Final = "random"
"""Design name, part of a subset's hash."""


def random_subset(
    model: RaschModel, bank_version: str, k: int, *, rng: np.random.Generator, seed: int = 0
) -> Subset:
    """Choose k questions uniformly without replacement, each standing for 1/k of the bank.

    Parameters
    ----------
    model : RaschModel
        Its questions are the bank; the draw depends on their keys alone, not
        on the order in which the model holds them.
    bank_version : str
    k : int
        Number of questions, ``1 <= k <= N``.
    rng : numpy.random.Generator
    seed : int, optional
        Recorded in the subset; the seed that `rng` was made from.

    Raises
    ------
    InputError
        If k is outside 1..N.
    """
    n = len(model.question_ids)
    require_subset_size(k, n)
    by_key = order_by_id(model.question_ids)
    chosen = by_key[rng.permutation(n)[:k]]
    return subset_of(model, bank_version, chosen, np.full(k, 1.0 / k), seed=seed, design=RANDOM)


N_STRATA: Final = 10


def pass_rate_strata(
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    k: int,
    *,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Weights of k questions drawn inside strata of near-equal size, shape (n,).

    Questions are ordered by their share of passes, equal shares at random, and
    cut into ten strata, or k where that is fewer, as numpy.array_split does. Each
    stratum gets its proportional part of k, rounded by largest remainders, and
    every drawn question stands for an equal part of its stratum.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (n,)
        Totals of the history by question. A question without a verdict counts
        as passed half of the time.
    k : int
        ``1 <= k <= n``.
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
    share = outcome_rates(passes, trials, missing=0.5)
    order = np.lexsort((rng.permutation(n), share))
    strata = np.array_split(order, min(N_STRATA, k))
    quotas = proportional_quotas(np.array([len(stratum) for stratum in strata]), k)
    weights = np.zeros(n)
    for stratum, quota in zip(strata, quotas, strict=True):
        drawn = rng.permutation(stratum)[:quota]
        weights[drawn] = len(stratum) / (n * quota)
    return weights
