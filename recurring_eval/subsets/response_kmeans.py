"""Anchors of questions that the same runs passed."""

from typing import Final

import numpy as np

from recurring_eval.calibration.imputed import imputed_rates
from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.records import Subset
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets.anchors import anchor_weights
from recurring_eval.subsets.stratified import subset_of

RESPONSE_KMEANS: Final = "response-kmeans"
"""Design name, part of a subset's hash."""


def response_kmeans_subset(
    matrix: ResponseMatrix,
    model: RaschModel,
    bank_version: str,
    k: int,
    *,
    rng: np.random.Generator,
    seed: int = 0,
) -> Subset:
    """Choose k anchors by K-means on the questions' verdicts in the history.

    A question's vector has its pass rate in every run. Missing cells are
    imputed with the Rasch model's probability of a pass, never counted as fails.

    Parameters
    ----------
    matrix : ResponseMatrix
        Calibration runs; the order of rows and columns has no effect.
    model : RaschModel
        Fitted on `matrix`.
    bank_version : str
    k : int
    rng : numpy.random.Generator
    seed : int, optional
        Recorded in the subset; the seed that `rng` was made from.

    References
    ----------
    Maia Polo et al. 2024 (correctness anchors); She and Lin 2026, historical responses.
    """
    history = matrix.in_canonical_order()
    ability = dict(zip(model.run_ids, model.ability, strict=True))
    difficulty = dict(zip(model.question_ids, model.difficulty, strict=True))
    rates = imputed_rates(
        history.passes,
        history.trials,
        ability=np.array([ability[run] for run in history.run_ids]),
        difficulty=np.array([difficulty[question] for question in history.question_ids]),
    )
    weights = anchor_weights(rates.T, k, rng=rng)
    place = {question: j for j, question in enumerate(model.question_ids)}
    chosen = np.flatnonzero(weights)
    positions = np.array([place[history.question_ids[j]] for j in chosen], dtype=np.intp)
    return subset_of(
        model, bank_version, positions, weights[chosen], seed=seed, design=RESPONSE_KMEANS
    )
