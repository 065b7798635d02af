"""Regressions on verdicts, prepared for replays: Mid-Range, RSL and AIPW."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from recurring_eval.ability import estimate_abilities
from recurring_eval.baselines.regressions import aipw_scores, midrange_questions, ridge_scores
from recurring_eval.calibration.models import RaschModel
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.estimators import weighted_score
from recurring_eval.irt import imputed_rates
from recurring_eval.methods.estimate import LEVEL
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Source runs and the Rasch model that imputes their missing cells."""

    runs: ResponseMatrix
    model: RaschModel
    rates: Floats

    @classmethod
    def of(cls, runs: ResponseMatrix) -> "Source":
        """Fit the model and fill the cells."""
        model = fit_rasch(runs)
        rates = imputed_rates(
            runs.passes, runs.trials, ability=model.ability, difficulty=model.difficulty
        )
        return cls(runs=runs, model=model, rates=rates)

    def midrange(self, k: int) -> NDArray[np.intp]:
        """Positions of the k questions with pass rates nearest one half."""
        passes = self.runs.passes.sum(axis=0, dtype=np.int64)
        return midrange_questions(passes, self.runs.trials.sum(axis=0, dtype=np.int64), k)


def _observed(targets: ResponseMatrix, chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    asked = np.zeros(targets.n_questions, dtype=np.bool_)
    asked[chosen] = True
    return (targets.trials > 0) & asked


def _target_rates(source: Source, targets: ResponseMatrix, observed: NDArray[np.bool_]) -> Floats:
    """Rates of the observed questions; others as the Rasch model predicts from these."""
    passes, trials = np.where(observed, targets.passes, 0), np.where(observed, targets.trials, 0)
    ability = estimate_abilities(source.model, passes, trials)
    return imputed_rates(passes, trials, ability=ability, difficulty=source.model.difficulty)


@dataclass(frozen=True, slots=True, kw_only=True)
class MidrangeScorer:
    """Plain mean over the questions nearest one half."""

    source: Source

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:  # noqa: ARG002  nothing is drawn
        """Average the valid outcomes."""
        observed = _observed(targets, self.source.midrange(k))
        score = weighted_score(targets.passes, targets.trials, observed.astype(np.float64))
        return Scored(score=score, observed=observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgeScorer:
    """Ridge regression of scores on the chosen questions."""

    source: Source
    at_random: bool

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Fit on the source's verdicts on the chosen questions, predict every target."""
        n = targets.n_questions
        chosen = rng.permutation(n)[:k] if self.at_random else self.source.midrange(k)
        observed = _observed(targets, chosen)
        score = ridge_scores(
            self.source.rates[:, chosen],
            self.source.runs.pass_rates(),
            _target_rates(self.source, targets, observed)[:, chosen],
        )
        return Scored(score=score, observed=observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class AipwScorer:
    """Random questions, and a regression of each target's own outcomes."""

    source: Source

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Estimate each target, with a normal interval from its residuals."""
        observed = _observed(targets, rng.permutation(targets.n_questions)[:k])
        valid = targets.trials > 0
        rates = outcome_rates(targets.passes, targets.trials)
        found = aipw_scores(self.source.rates.T, rates, observed, valid)
        half = stats.norm.ppf((1.0 + LEVEL) / 2.0) * found.standard_error
        return Scored(
            score=found.score,
            observed=observed,
            model_sd=found.standard_error,
            low=found.score - half,
            high=found.score + half,
        )


def fit_midrange(source: ResponseMatrix, rng: np.random.Generator) -> MidrangeScorer:  # noqa: ARG001  nothing is drawn
    """Count the source."""
    return MidrangeScorer(source=Source.of(source))


def fit_midrange_ridge(source: ResponseMatrix, rng: np.random.Generator) -> RidgeScorer:  # noqa: ARG001  nothing is drawn
    """Fill the source's cells."""
    return RidgeScorer(source=Source.of(source), at_random=False)


def fit_rsl(source: ResponseMatrix, rng: np.random.Generator) -> RidgeScorer:  # noqa: ARG001  questions are drawn later
    """Fill the source's cells."""
    return RidgeScorer(source=Source.of(source), at_random=True)


def fit_aipw(source: ResponseMatrix, rng: np.random.Generator) -> AipwScorer:  # noqa: ARG001  questions are drawn later
    """Fill the source's cells."""
    return AipwScorer(source=Source.of(source))


MIDRANGE: Final = ReplayMethod(
    name="midrange",
    description="Questions passed about half of the time and their plain mean, for ranking.",
    prepare=PrepareInOrder(fit=fit_midrange),
    product=False,
    source="Ndzomga 2026",
)

MIDRANGE_RIDGE: Final = ReplayMethod(
    name="midrange-ridge",
    description="The same questions; a ridge regression maps their outcomes to scores.",
    prepare=PrepareInOrder(fit=fit_midrange_ridge),
    product=False,
    source="Ndzomga 2026, with HSPR's ridge",
)

RSL: Final = ReplayMethod(
    name="rsl",
    description="Random questions; a ridge regression maps their outcomes to scores.",
    prepare=PrepareInOrder(fit=fit_rsl),
    product=False,
    source="Zhang, Dorner and Hardt 2025",
)

AIPW: Final = ReplayMethod(
    name="aipw",
    description="Random questions; a regression over questions corrected by its own errors.",
    prepare=PrepareInOrder(fit=fit_aipw),
    product=False,
    source="Zhang, Dorner and Hardt 2025, finite-population form",
)
