"""Random questions inside strata of the historical pass rate."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.estimators import weighted_score
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets.random import pass_rate_strata


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedRandomScorer:
    """Passes and trials of each question in the source."""

    passes: NDArray[np.int64]
    trials: NDArray[np.int64]

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Draw one set of questions for all targets; weighted mean of the valid outcomes."""
        weights = pass_rate_strata(self.passes, self.trials, k, rng=rng)
        return Scored(
            score=weighted_score(targets.passes, targets.trials, weights),
            observed=(targets.trials > 0) & (weights > 0),
        )


def count_passes(source: ResponseMatrix, rng: np.random.Generator) -> StratifiedRandomScorer:  # noqa: ARG001  nothing is drawn
    """Total the source by question."""
    return StratifiedRandomScorer(
        passes=source.passes.sum(axis=0, dtype=np.int64),
        trials=source.trials.sum(axis=0, dtype=np.int64),
    )


STRATIFIED_RANDOM: Final = ReplayMethod(
    name="stratified-random",
    description="Random questions inside ten strata of the historical pass rate, weighted.",
    source="HSPR's baseline",
    fit=count_passes,
    aliases=("stratified-random+weighted",),
)
