"""AIPW: random questions, and a regression over questions corrected by its own errors."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from recurring_eval.baselines.aipw import aipw_scores
from recurring_eval.methods.estimate import LEVEL
from recurring_eval.methods.midrange import Source, observed_on
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AipwScorer:
    """Random questions, and a regression of each target's own outcomes."""

    source: Source

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Estimate each target, with a normal interval from its residuals."""
        observed = observed_on(targets, rng.permutation(targets.n_questions)[:k])
        valid = targets.trials > 0
        rates = np.divide(
            targets.passes, targets.trials, out=np.zeros(targets.trials.shape), where=valid
        )
        found = aipw_scores(self.source.rates.T, rates, observed, valid)
        half = stats.norm.ppf((1.0 + LEVEL) / 2.0) * found.standard_error
        return Scored(
            score=found.score,
            observed=observed,
            model_sd=found.standard_error,
            low=found.score - half,
            high=found.score + half,
        )


def fit_aipw(source: ResponseMatrix, rng: np.random.Generator) -> AipwScorer:  # noqa: ARG001  questions are drawn later
    """Fill the source's cells."""
    return AipwScorer(source=Source.of(source))


AIPW: Final = ReplayMethod(
    name="aipw",
    description="Random questions; a regression over questions corrected by its own errors.",
    source="Zhang, Dorner and Hardt 2025, finite-population form",
    fit=fit_aipw,
)
