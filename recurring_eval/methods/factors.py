"""Random questions, the others predicted by logistic items with residual factors."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.factor_score import RANK, factor_scores
from recurring_eval.calibration.logistic_factors import LogisticFactors, fit_logistic_factors
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets.random import pass_rate_strata

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorScorer:
    """Logistic items with residual factors, and how questions are drawn."""

    factors: LogisticFactors
    passes: NDArray[np.int64]
    trials: NDArray[np.int64]
    stratified: bool

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Draw one set of questions for all targets and predict the rest."""
        if self.stratified:
            asked = pass_rate_strata(self.passes, self.trials, k, rng=rng) > 0
        else:
            asked = np.zeros(targets.n_questions, dtype=np.bool_)
            asked[rng.permutation(targets.n_questions)[:k]] = True
        valid = targets.trials > 0
        found = factor_scores(
            self.factors, targets.passes, targets.trials, asked=asked, population=valid
        )
        return Scored(score=found.score, observed=valid & asked, model_sd=found.model_sd)


def fit_random_factors(source: ResponseMatrix, rng: np.random.Generator) -> FactorScorer:  # noqa: ARG001  questions are drawn later
    """Fit the items and factors."""
    return _factor_scorer(source, stratified=False)


def fit_stratified_factors(source: ResponseMatrix, rng: np.random.Generator) -> FactorScorer:  # noqa: ARG001  questions are drawn later
    """Fit the items and factors."""
    return _factor_scorer(source, stratified=True)


def _factor_scorer(source: ResponseMatrix, *, stratified: bool) -> FactorScorer:
    return FactorScorer(
        factors=fit_logistic_factors(source, rank=RANK),
        passes=source.passes.sum(axis=0, dtype=np.int64),
        trials=source.trials.sum(axis=0, dtype=np.int64),
        stratified=stratified,
    )


RANDOM_FACTORS: Final = ReplayMethod(
    name="random+factors",
    description="Random questions; logistic items with four residual factors predict the others.",
    source="HSPR's item model",
    fit=fit_random_factors,
)

STRATIFIED_RANDOM_FACTORS: Final = ReplayMethod(
    name="stratified-random+factors",
    description="Random questions inside pass-rate strata; the same items predict the others.",
    source="HSPR's item model",
    fit=fit_stratified_factors,
)
