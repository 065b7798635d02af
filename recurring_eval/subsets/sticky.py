"""Published subsets that stay the same from night to night unless there is cause."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.records import Subset
from recurring_eval.subsets.stratified import (
    difficulty_order,
    micro_difficulty,
    representatives,
    stratum_bounds,
    subset_of,
)

MIN_REPLAYED_GAIN_PP: Final = 0.1
"""Replayed gain in MAE, in percentage points, above which a fresh subset is published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishDecision:
    """Whether to publish a new version of a subset, and why, in words for the ledger."""

    publish: bool
    reason: str


def sticky_subset(
    previous: Subset, model: RaschModel, bank_version: str, k: int, *, seed: int = 0
) -> Subset:
    """Stratified subset under today's model that keeps former members where it can.

    A former member stays as the representative of the stratum it now falls
    in; of two in one stratum the one nearer the stratum's median stays, of two
    equally near the first. A stratum without one gets the usual choice.

    Parameters
    ----------
    previous : Subset
        The published subset; members unknown to `model` are let go.
    model, bank_version, k, seed
        As in `stratified_subset`.

    Raises
    ------
    InputError
        If k is outside 1..N.
    """
    order = difficulty_order(model)
    micro = micro_difficulty(model.difficulty)[order]
    first, size = stratum_bounds(len(order), k)
    middle_sum = micro[first + (size - 1) // 2] + micro[first + size // 2]
    chosen = representatives(micro, first, size)

    former = set(previous.question_ids)
    kept = np.array([model.question_ids[j] in former for j in order], dtype=np.bool_)
    stratum = np.repeat(np.arange(k), size)
    distance = np.abs(2 * micro - middle_sum[stratum])
    position = np.flatnonzero(kept)
    # Farthest (and last) first, so that the nearest (and first) is written last and stays.
    position = position[np.lexsort((-position, -distance[position]))]
    for i in position:
        chosen[stratum[i]] = i
    return subset_of(model, bank_version, order[chosen], size / len(order), seed=seed)


def should_publish(
    previous: Subset | None,
    *,
    bank_version: str,
    replayed_gain_pp: float | None = None,
    drift_asked: bool = False,
    requested: bool = False,
) -> PublishDecision:
    """Decide whether tonight's candidate replaces the published subset.

    Parameters
    ----------
    previous : Subset or None
        The published subset of this size and design, if any.
    bank_version : str
        Version of the bank in force.
    replayed_gain_pp : float, optional
        By how many percentage points the candidate's MAE on recent runs is
        lower, as `recurring_eval.replay.replayed_gain` measures it; None when
        it was not measured.
    drift_asked : bool, optional
        A drift alert asked for new subsets.
    requested : bool, optional
        A person asked for new subsets.
    """
    if previous is None:
        return PublishDecision(publish=True, reason="no subset of this size was published yet")
    if previous.bank_version != bank_version:
        return PublishDecision(publish=True, reason="the bank has a new version")
    if requested:
        return PublishDecision(publish=True, reason="new subsets were requested")
    if drift_asked:
        return PublishDecision(publish=True, reason="a drift alert asked for new subsets")
    if replayed_gain_pp is not None and replayed_gain_pp > MIN_REPLAYED_GAIN_PP:
        return PublishDecision(
            publish=True,
            reason=f"replayed error falls by {replayed_gain_pp:.2f} pp",
        )
    return PublishDecision(publish=False, reason="the published subset stays")
