"""The product's fixed designs, prepared for replays."""

from dataclasses import dataclass

import numpy as np

from recurring_eval.calibration.models import RaschModel
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.estimators import GpirtConstants, fit_gpirt_constants
from recurring_eval.methods.evidence import aligned_weights, gather_evidence
from recurring_eval.methods.method import Method
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.response_matrix import ResponseMatrix


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignScorer:
    """A fixed design with its Rasch model."""

    method: Method
    model: RaschModel
    gpirt: GpirtConstants | None

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Choose one subset for all targets and estimate each from its verdicts on it."""
        if self.method.choose is None:
            raise ValueError(f"method {self.method.name!r} does not choose k questions")
        subset = self.method.choose(self.model, "replay", k, rng=rng)
        evidence = gather_evidence(
            self.model,
            targets.passes,
            targets.trials,
            weights=aligned_weights(self.model, subset),
            population=targets.trials > 0,
            gpirt=self.gpirt,
        )
        return Scored(
            score=self.method.scores(evidence),
            observed=evidence.observed,
            model_sd=evidence.variance().model_sd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FitDesign:
    """Calibrates a fixed design on source runs."""

    method: Method

    def __call__(self, source: ResponseMatrix, rng: np.random.Generator) -> DesignScorer:
        """Fit the Rasch model, and the constants of gp-IRT where it is used."""
        return DesignScorer(
            method=self.method,
            model=fit_rasch(source),
            gpirt=fit_gpirt_constants(source, rng=rng) if self.method.needs_gpirt else None,
        )


def replay_design(method: Method, source: str) -> ReplayMethod:
    """Make a fixed method of the product ready for replays."""
    return ReplayMethod(
        name=method.name,
        description=method.description,
        prepare=PrepareInOrder(fit=FitDesign(method=method)),
        product=True,
        source=source,
    )
