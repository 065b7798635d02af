"""Item-response baselines, prepared for replays: FAQ, ATLAS and logistic factors."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.atlas import FourPl, atlas_runs, fit_four_pl
from recurring_eval.baselines.factors import (
    RANK,
    LogisticFactors,
    factor_scores,
    fit_logistic_factors,
)
from recurring_eval.baselines.faq import faq_runs
from recurring_eval.baselines.logistic_factorisation import Factorisation, select_factorisation
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates
from recurring_eval.subsets.random import pass_rate_strata


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqScorer:
    """Question factors, and the spread of the source runs' factors as prior."""

    factors: Factorisation

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Ask each target its own randomised questions."""
        runs = self.factors.runs
        found = faq_runs(
            self.factors.questions,
            runs.mean(axis=0),
            np.atleast_2d(np.cov(runs, rowvar=False)),
            outcome_rates(targets.passes, targets.trials),
            targets.trials > 0,
            k,
            draws=rng.random((targets.n_runs, k)),
        )
        return Scored(score=found.score, observed=found.asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasScorer:
    """A 4PL bank."""

    bank: FourPl

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Ask each target by the information at its ability."""
        draws = rng.random((targets.n_runs, k))
        found = atlas_runs(self.bank, targets.passes, targets.trials, k, draws=draws)
        return Scored(score=found.score, observed=found.asked, model_sd=found.model_sd)


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


def fit_faq(source: ResponseMatrix, rng: np.random.Generator) -> FaqScorer:
    """Factorise the source; `rng` shares its cells out to the validation folds."""
    return FaqScorer(factors=select_factorisation(source.passes, source.trials, rng=rng))


def fit_atlas(source: ResponseMatrix, rng: np.random.Generator) -> AtlasScorer:  # noqa: ARG001  nothing is drawn
    """Fit the bank."""
    return AtlasScorer(bank=fit_four_pl(source.passes, source.trials).bank)


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


FAQ: Final = ReplayMethod(
    name="faq",
    description="Questions drawn by a factor model, without replacement; pro-active inference.",
    prepare=PrepareInOrder(fit=fit_faq),
    product=False,
    source="Wu, Nair and Candès 2026; HSPR's port, corrected",
)

ATLAS: Final = ReplayMethod(
    name="atlas",
    description="One question at a time, among the five most informative of a 4PL bank; p-IRT.",
    prepare=PrepareInOrder(fit=fit_atlas),
    product=False,
    source="Li et al. 2026; HSPR's port",
)

RANDOM_FACTORS: Final = ReplayMethod(
    name="random+factors",
    description="Random questions; logistic items with four residual factors predict the others.",
    prepare=PrepareInOrder(fit=fit_random_factors),
    product=False,
    source="HSPR's item model",
)

STRATIFIED_RANDOM_FACTORS: Final = ReplayMethod(
    name="stratified-random+factors",
    description="Random questions inside pass-rate strata; the same items predict the others.",
    prepare=PrepareInOrder(fit=fit_stratified_factors),
    product=False,
    source="HSPR's item model",
)
