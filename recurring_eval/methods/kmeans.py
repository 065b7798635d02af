"""Anchor questions: the most central question of each cluster of similar questions."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

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
from recurring_eval.irt import imputed_rates
from recurring_eval.methods.evidence import aligned_weights
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.one_thread import one_thread
from recurring_eval.records import Subset
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets.stratified import subset_of
from recurring_eval.validation import order_by_id, require_subset_size

Floats = NDArray[np.float64]

N_RESTARTS: Final = 5

_EQUAL: Final = 1e-9
"""Squared distances closer than this, relative to the spread of the vectors, are equal."""


def anchor_weights(vectors: Floats, k: int, *, rng: np.random.Generator) -> Floats:
    """Weights of exactly k distinct anchor questions, shape (n,), zero elsewhere.

    K-means on the distinct vectors, each weighted by how many questions share
    it, best of five restarts. A cluster's anchor is the question nearest its
    centroid, of equally near ones the first; it stands for the cluster's share
    of the bank. With fewer distinct vectors than k, the clusters with most
    questions per anchor get further anchors, which share the weight equally.

    Parameters
    ----------
    vectors : ndarray, shape (n, p)
        Of each question, finite.
    k : int
        ``1 <= k <= n``.
    rng : numpy.random.Generator
        Starts the clusterings.

    References
    ----------
    Maia Polo et al. 2024 (tinyBenchmarks), section 3; She and Lin 2026.
    """
    require_subset_size(k, len(vectors))
    distinct, group = np.unique(vectors, axis=0, return_inverse=True)
    group = group.ravel()
    labels, centroids = _clusters(distinct, np.bincount(group), k, rng)
    cluster = labels[group]
    distance = ((vectors - centroids[cluster]) ** 2).sum(axis=1)
    near = np.rint(distance / (_EQUAL * max(float(vectors.var(axis=0).sum()), 1e-300)))
    # Within each cluster: nearest first, then question order.
    order = np.lexsort((near, cluster))
    sizes = np.bincount(cluster)
    first = np.cumsum(sizes) - sizes
    weights = np.zeros(len(vectors))
    for start, size, n_anchors in zip(first, sizes, _anchors_per_cluster(sizes, k), strict=True):
        weights[order[start : start + n_anchors]] = size / (len(vectors) * n_anchors)
    return weights


def _clusters(
    distinct: Floats, counts: NDArray[np.intp], k: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], Floats]:
    """Cluster of each distinct vector, numbered without gaps, and the centroids."""
    if k >= len(distinct):
        return np.arange(len(distinct)), distinct
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    kmeans = KMeans(n_clusters=k, n_init=N_RESTARTS, random_state=int(rng.integers(2**31)))
    # Its threads came with the import, and are limited from here on.
    with one_thread(), warnings.catch_warnings():
        # Nearly equal vectors can leave fewer clusters than k; the caller fills up.
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(distinct, sample_weight=counts)
    kept, labels = np.unique(kmeans.labels_, return_inverse=True)
    return labels.ravel(), np.asarray(kmeans.cluster_centers_)[kept]


def _anchors_per_cluster(sizes: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """One anchor each; the rest go where an anchor stands for most questions, (g,)."""
    anchors = np.ones(len(sizes), dtype=np.intp)
    for _ in range(k - len(sizes)):
        load = np.where(anchors < sizes, sizes / anchors, 0.0)
        anchors[int(load.argmax())] += 1
    return anchors


IRT_DESIGN: Final = "irt-kmeans"
"""Design name, part of a subset's hash."""

_DECIMALS: Final = 6
"""As in model fingerprints, so that equal questions are equal whatever the rounding."""


def irt_kmeans_subset(
    model: MirtModel, bank_version: str, k: int, *, rng: np.random.Generator, seed: int = 0
) -> Subset:
    """Choose k anchors by K-means on each question's discriminations and difficulty.

    Parameters
    ----------
    model : MirtModel
        Its questions are the bank; their order has no effect.
    bank_version : str
    k : int
    rng : numpy.random.Generator
    seed : int, optional
        Recorded in the subset; the seed that `rng` was made from.

    References
    ----------
    Maia Polo et al. 2024 (IRT anchors); She and Lin 2026, IRT features.
    """
    by_key = order_by_id(model.question_ids)
    vectors = np.column_stack([model.discrimination, model.difficulty])[by_key]
    weights = anchor_weights(np.round(vectors, _DECIMALS), k, rng=rng)
    chosen = np.flatnonzero(weights)
    return subset_of(
        model, bank_version, by_key[chosen], weights[chosen], seed=seed, design=IRT_DESIGN
    )


RESPONSE_DESIGN: Final = "response-kmeans"
"""Design name, part of a subset's hash."""


def response_kmeans_subset(
    matrix: ResponseMatrix,
    model: RaschModel,
    bank_version: str,
    k: int,
    *,
    rng: np.random.Generator,
    seed: int = 0,
) -> Subset:
    """Choose k anchors by K-means on the questions' verdicts in the history.

    A question's vector has its pass rate in every run. Missing cells are
    imputed with the Rasch model's probability of a pass, never counted as fails.

    Parameters
    ----------
    matrix : ResponseMatrix
        Calibration runs; the order of rows and columns has no effect.
    model : RaschModel
        Fitted on `matrix`.
    bank_version : str
    k : int
    rng : numpy.random.Generator
    seed : int, optional
        Recorded in the subset; the seed that `rng` was made from.

    References
    ----------
    Maia Polo et al. 2024 (correctness anchors); She and Lin 2026, historical responses.
    """
    history = matrix.in_canonical_order()
    ability = dict(zip(model.run_ids, model.ability, strict=True))
    difficulty = dict(zip(model.question_ids, model.difficulty, strict=True))
    rates = imputed_rates(
        history.passes,
        history.trials,
        ability=np.array([ability[run] for run in history.run_ids]),
        difficulty=np.array([difficulty[question] for question in history.question_ids]),
    )
    weights = anchor_weights(rates.T, k, rng=rng)
    place = {question: j for j, question in enumerate(model.question_ids)}
    chosen = np.flatnonzero(weights)
    positions = np.array([place[history.question_ids[j]] for j in chosen], dtype=np.intp)
    return subset_of(
        model, bank_version, positions, weights[chosen], seed=seed, design=RESPONSE_DESIGN
    )


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
