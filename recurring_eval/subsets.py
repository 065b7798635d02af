"""Fixed selections of k questions: at random, or one per stratum of the Rasch difficulties.

Published stratified ones are sticky: they stay the same from night to night unless there is cause.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.records import Subset
from recurring_eval.response_matrix import outcome_rates
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


def subset_of(
    model: RaschModel,
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


RANDOM: Final = "random"
"""Design name, part of a subset's hash."""


def random_subset(
    model: RaschModel,
    bank_version: str,
    k: int,
    *,
    rng: np.random.Generator | None = None,
    seed: int = 0,
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
        If k is outside 1..N or `rng` is missing.
    """
    if rng is None:
        raise InputError("a random subset needs a random generator; give `rng`")
    n = len(model.question_ids)
    require_subset_size(k, n)
    by_key = order_by_id(model.question_ids)
    chosen = by_key[rng.permutation(n)[:k]]
    return subset_of(model, bank_version, chosen, np.full(k, 1.0 / k), seed=seed, design=RANDOM)


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
