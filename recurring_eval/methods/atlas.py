"""ATLAS: among the five most informative questions of a 4PL bank, one at a time."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.atlas import atlas_runs
from recurring_eval.baselines.four_pl import FourPl, fit_four_pl
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasScorer:
    """A 4PL bank."""

    bank: FourPl

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Ask each target by the information at its ability."""
        draws = rng.random((targets.n_runs, k))
        found = atlas_runs(self.bank, targets.passes, targets.trials, k, draws=draws)
        return Scored(score=found.score, observed=found.asked, model_sd=found.model_sd)


def fit_atlas(source: ResponseMatrix, rng: np.random.Generator) -> AtlasScorer:  # noqa: ARG001  nothing is drawn
    """Fit the bank."""
    return AtlasScorer(bank=fit_four_pl(source.passes, source.trials).bank)


ATLAS: Final = ReplayMethod(
    name="atlas",
    description="One question at a time, among the five most informative of a 4PL bank; p-IRT.",
    source="Li et al. 2026; HSPR's port",
    fit=fit_atlas,
)
