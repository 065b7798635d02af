"""Anchor questions by K-means on verdicts or item parameters."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from recurring_eval.calibration import fit_rasch
from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.calibration.mirt_selection import select_mirt
from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.estimators import GpirtConstants, weighted_score
from recurring_eval.estimators.gpirt import fit_mirt_gpirt_constants, mirt_gpirt_score
from recurring_eval.methods.evidence import aligned_weights
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.records import Subset
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets.kmeans import irt_kmeans_subset, response_kmeans_subset

Features = Literal["responses", "parameters"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmeansScorer:
    """What anchors are chosen by, and the model of gp-IRT where it is used."""

    features: Features
    source: ResponseMatrix
    rasch: RaschModel
    mirt: MirtModel | None
    gpirt: GpirtConstants | None

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Choose one set of anchors for all targets and estimate each from its verdicts."""
        weights = aligned_weights(self.rasch, self._anchors(k, rng))
        valid = targets.trials > 0
        if self.mirt is None or self.gpirt is None:
            score = weighted_score(targets.passes, targets.trials, weights)
        else:
            score = mirt_gpirt_score(
                self.mirt,
                targets.passes,
                targets.trials,
                weights=weights,
                constants=self.gpirt,
                population=valid,
            )
        return Scored(score=score, observed=valid & (weights > 0))

    def _anchors(self, k: int, rng: np.random.Generator) -> Subset:
        if self.features == "parameters" and self.mirt is not None:
            return irt_kmeans_subset(self.mirt, "replay", k, rng=rng)
        return response_kmeans_subset(self.source, self.rasch, "replay", k, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitKmeans:
    """Calibrates what anchors and estimator need."""

    features: Features
    gpirt: bool

    def __call__(self, source: ResponseMatrix, rng: np.random.Generator) -> KmeansScorer:
        """Fit the models; `rng` draws held-out cells."""
        needs_mirt = self.gpirt or self.features == "parameters"
        mirt = select_mirt(source, rng=rng) if needs_mirt else None
        constants = None
        if self.gpirt and mirt is not None:
            constants = fit_mirt_gpirt_constants(
                source,
                dimensions=mirt.n_dimensions,
                discrimination_sd=mirt.discrimination_sd,
                rng=rng,
            )
        return KmeansScorer(
            features=self.features,
            source=source,
            rasch=fit_rasch(source),
            mirt=mirt,
            gpirt=constants,
        )


def _method(name: str, features: Features, *, gpirt: bool, description: str) -> ReplayMethod:
    return ReplayMethod(
        name=name,
        description=description,
        source="Maia Polo et al. 2024; She and Lin 2026",
        fit=FitKmeans(features=features, gpirt=gpirt),
        aliases=() if gpirt else (f"{name}+weighted",),
    )


RESPONSE_KMEANS: Final = _method(
    "response-kmeans",
    "responses",
    gpirt=False,
    description="Anchors of questions with similar verdicts, weighted by their clusters.",
)

RESPONSE_KMEANS_GPIRT: Final = _method(
    "response-kmeans+gpirt",
    "responses",
    gpirt=True,
    description="The same anchors; blended with the multidimensional model's prediction.",
)

IRT_KMEANS: Final = _method(
    "irt-kmeans",
    "parameters",
    gpirt=False,
    description="Anchors of questions with similar parameters, weighted by their clusters.",
)

IRT_KMEANS_GPIRT: Final = _method(
    "irt-kmeans+gpirt",
    "parameters",
    gpirt=True,
    description="The same anchors; blended with the multidimensional model's prediction.",
)
