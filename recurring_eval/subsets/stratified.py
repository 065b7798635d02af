"""Difficulty-stratified subsets: one question per stratum of the Rasch difficulties.

Published ones are sticky: they stay the same from night to night unless there is cause.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.records import Subset
from recurring_eval.validation import order_by_id, rank_by_id, require_subset_size

STRATIFIED: Final = "stratified"
"""Design name, part of a subset's hash."""

_MICRO: Final = 1_000_000


def stratified_subset(
    model: RaschModel,
    bank_version: str,
    k: int,
    *,
    seed: int = 0,
    tie_order: NDArray[np.intp] | None = None,
) -> Subset:
    """Choose the question nearest the median of each of k difficulty strata.

    Questions are ordered by difficulty rounded to six decimals, equal ones by
    question key, and cut into k strata whose sizes differ by at most one. The
    deployed design of the production study (She and Lin 2026, section 3).

    Parameters
    ----------
    model : RaschModel
        Its questions are the bank.
    bank_version : str
    k : int
        Number of questions, ``1 <= k <= N``.
    seed : int, optional
        Recorded in the subset and its hash; the choice does not depend on it.
    tie_order : ndarray of int, shape (N,), optional
        Rank of each question of the model among equal difficulties, in place
        of the order of question keys. Used by replays, whose figures would
        otherwise hang on one arbitrary order.

    Returns
    -------
    Subset
        Ids in bank order; each weight is the stratum's share of the bank.

    Raises
    ------
    InputError
        If k is outside 1..N or `tie_order` is not a permutation.
    """
    order = difficulty_order(model, tie_order=tie_order)
    micro = micro_difficulty(model.difficulty)[order]
    first, size = stratum_bounds(len(order), k)
    chosen = order[representatives(micro, first, size)]
    return subset_of(model, bank_version, chosen, size / len(order), seed=seed)


def micro_difficulty(difficulty: NDArray[np.float64]) -> NDArray[np.int64]:
    """Difficulties rounded to six decimals, as integers, so that ties are exact."""
    return np.rint(difficulty * _MICRO).astype(np.int64)


def difficulty_order(
    model: RaschModel, *, tie_order: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Positions sorted by (rounded difficulty, question key or `tie_order`), shape (N,)."""
    n = len(model.question_ids)
    if tie_order is None:
        tie_order = rank_by_id(model.question_ids)
    elif not np.array_equal(np.sort(tie_order), np.arange(n)):
        raise InputError(f"`tie_order` must be a permutation of 0..{n - 1}")
    return np.lexsort((tie_order, micro_difficulty(model.difficulty)))


def stratum_bounds(n_questions: int, k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First position and size of each stratum, as numpy.array_split cuts; shapes (k,)."""
    require_subset_size(k, n_questions)
    small, n_large = divmod(n_questions, k)
    size = np.full(k, small, dtype=np.intp)
    size[:n_large] += 1
    return np.cumsum(size) - size, size


def representatives(
    micro: NDArray[np.int64], first: NDArray[np.intp], size: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Position nearest each stratum's median in the sorted difficulties, shape (k,).

    No value is nearer the median than the lower middle one, so the earliest
    question with that value is the answer.
    """
    lower_middle = micro[first + (size - 1) // 2]
    earliest: NDArray[np.intp] = np.searchsorted(micro, lower_middle, side="left")
    chosen: NDArray[np.intp] = np.maximum(first, earliest)
    return chosen


class NamedQuestions(Protocol):
    """A fitted model, as far as a subset needs to know it."""

    @property
    def question_ids(self) -> tuple[str, ...]:
        """Ids of its n questions."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of its parameters."""
        ...


def subset_of(
    model: NamedQuestions,
    bank_version: str,
    chosen: NDArray[np.intp],
    weights: NDArray[np.float64],
    *,
    seed: int,
    design: str = STRATIFIED,
) -> Subset:
    """Subset of the questions at `chosen`, put in bank (key) order."""
    by_key = order_by_id([model.question_ids[j] for j in chosen])
    return Subset(
        question_ids=tuple(model.question_ids[chosen[j]] for j in by_key),
        weights=weights[by_key],
        design=design,
        seed=seed,
        bank_version=bank_version,
        model_fingerprint=model.fingerprint,
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
    """Stratified subset under today's model that keeps previous members where it can.

    A previous member stays as the representative of the stratum it now falls
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

    members = set(previous.question_ids)
    kept = np.array([model.question_ids[j] in members for j in order], dtype=np.bool_)
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
        Version of the bank in use.
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
