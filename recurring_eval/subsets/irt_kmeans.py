"""Anchors of questions with similar parameters of a multidimensional 2PL."""

from typing import Final

import numpy as np

from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.records import Subset
from recurring_eval.subsets.anchors import anchor_weights
from recurring_eval.subsets.stratified import key_ranks, subset_of

IRT_KMEANS: Final = "irt-kmeans"
"""Design name, part of a subset's hash."""

_DECIMALS: Final = 6
"""As in model fingerprints, so that equal questions are equal whatever the rounding."""


def irt_kmeans_subset(
    model: MirtModel, bank_version: str, k: int, *, rng: np.random.Generator, seed: int = 0
) -> Subset:
    """Choose k anchors by K-means on each question's discriminations and difficulty.

    Parameters
    ----------
    model : MirtModel
        Its questions are the bank; their order has no effect.
    bank_version : str
    k : int
    rng : numpy.random.Generator
    seed : int, optional
        Recorded in the subset; the seed that `rng` was made from.

    References
    ----------
    Maia Polo et al. 2024 (IRT anchors); She and Lin 2026, IRT features.
    """
    by_key = np.argsort(key_ranks(model.question_ids))
    vectors = np.column_stack([model.discrimination, model.difficulty])[by_key]
    weights = anchor_weights(np.round(vectors, _DECIMALS), k, rng=rng)
    chosen = np.flatnonzero(weights)
    return subset_of(
        model, bank_version, by_key[chosen], weights[chosen], seed=seed, design=IRT_KMEANS
    )
