"""Tonight's candidate subsets, and which of them replace the published ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.registry import DEFAULT_FIXED
from recurring_eval.records import Subset
from recurring_eval.replay.gain import replayed_gain
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets import PublishDecision, should_publish, sticky_subset, stratified_subset


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetChoice:
    """The candidate for one size and what became of it."""

    candidate: Subset
    decision: PublishDecision


def choose_subsets(
    calibration: Calibration,
    matrix: ResponseMatrix,
    *,
    bank_version: str,
    sizes: Sequence[int],
    published: Mapping[int, Subset],
    seed: int,
    requested: bool,
) -> list[SubsetChoice]:
    """Build a candidate per size and decide on its publication.

    Members of the published subset stay while they are inside their stratum,
    unless new subsets were requested.

    Parameters
    ----------
    calibration : Calibration
        Tonight's.
    matrix : ResponseMatrix
        The runs it was fitted on.
    bank_version : str
    sizes : sequence of int
        Below the number of questions.
    published : mapping of int to Subset
        Published subsets by size.
    seed : int
        Recorded in the subsets.
    requested : bool
        Whether a person asked for new subsets.
    """
    choices = []
    for k in sizes:
        previous = published.get(k)
        if previous is None or requested:
            candidate = stratified_subset(calibration.rasch, bank_version, k, seed=seed)
        else:
            candidate = sticky_subset(previous, calibration.rasch, bank_version, k, seed=seed)
        gain = None
        if previous is not None and previous.bank_version == bank_version:
            gain = replayed_gain(
                matrix, previous, candidate, method=DEFAULT_FIXED, calibration=calibration
            ).certain_pp
        decision = should_publish(
            previous, bank_version=bank_version, replayed_gain_pp=gain, requested=requested
        )
        choices.append(SubsetChoice(candidate=candidate, decision=decision))
    return choices
