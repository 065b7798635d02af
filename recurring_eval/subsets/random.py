"""Uniform random subsets, the baseline every design is compared with."""

from typing import Final

import numpy as np

from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.records import Subset
from recurring_eval.subsets.stratified import key_ranks, subset_of
from recurring_eval.validation import require_subset_size

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
    by_key = np.argsort(key_ranks(model.question_ids))
    chosen = by_key[rng.permutation(n)[:k]]
    return subset_of(model, bank_version, chosen, np.full(k, 1.0 / k), seed=seed, design=RANDOM)
