"""Anchor questions by K-means, prepared for replays."""

from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np

from recurring_eval.ability import estimate_abilities
from recurring_eval.calibration import fit_rasch
from recurring_eval.calibration.mirt import fit_mirt, largest_dimension
from recurring_eval.calibration.mirt_selection import select_mirt
from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.estimators import (
    GpirtConstants,
    fit_gpirt_constants,
    gpirt_score,
    weighted_score,
)
from recurring_eval.methods.evidence import aligned_weights
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
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
            asked = weights > 0
            passes, trials = np.where(asked, targets.passes, 0), np.where(asked, targets.trials, 0)
            score = gpirt_score(
                self.mirt,
                estimate_abilities(self.mirt, passes, trials),
                passes,
                trials,
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
            constants = fit_gpirt_constants(source, rng=rng, fit=partial(_refit, like=mirt))
        return KmeansScorer(
            features=self.features,
            source=source,
            rasch=fit_rasch(source),
            mirt=mirt,
            gpirt=constants,
        )


def _refit(earlier: ResponseMatrix, *, like: MirtModel) -> MirtModel:
    """Fit fewer runs with the settings of `like`, as far as they allow its dimensions."""
    return fit_mirt(
        earlier,
        dimensions=min(like.n_dimensions, largest_dimension(earlier)),
        discrimination_sd=like.discrimination_sd,
    )


def _replay(name: str, features: Features, *, gpirt: bool, description: str) -> ReplayMethod:
    return ReplayMethod(
        name=name,
        description=description,
        prepare=PrepareInOrder(fit=FitKmeans(features=features, gpirt=gpirt)),
        product=False,
        source="Maia Polo et al. 2024; She and Lin 2026",
    )


KMEANS_REPLAYS: Final = (
    _replay(
        "response-kmeans",
        "responses",
        gpirt=False,
        description="Anchors of questions with similar verdicts, weighted by their clusters.",
    ),
    _replay(
        "response-kmeans+gpirt",
        "responses",
        gpirt=True,
        description="The same anchors; blended with the multidimensional model's prediction.",
    ),
    _replay(
        "irt-kmeans",
        "parameters",
        gpirt=False,
        description="Anchors of questions with similar parameters, weighted by their clusters.",
    ),
    _replay(
        "irt-kmeans+gpirt",
        "parameters",
        gpirt=True,
        description="The same anchors; blended with the multidimensional model's prediction.",
    ),
)
