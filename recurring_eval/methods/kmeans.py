"""Anchor questions: the most central question of each cluster of similar questions."""

import warnings
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import estimate_abilities
from recurring_eval.calibration import fit_rasch
from recurring_eval.calibration.mirt import refit_mirt
from recurring_eval.calibration.mirt_selection import select_mirt
from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.estimators import fit_gpirt_constants, gpirt_score, weighted_score
from recurring_eval.irt import imputed_rates
from recurring_eval.methods.replayed import Fit, ReplayMethod, Score, Scored
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.validation import require_subset_size

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


_DECIMALS: Final = 6
"""As in model fingerprints, so that equal questions are equal whatever the rounding."""


def parameter_vectors(model: MirtModel) -> Floats:
    """Discriminations and difficulty of each question, shape (n, d + 1).

    References
    ----------
    Maia Polo et al. 2024 (IRT anchors); She and Lin 2026, IRT features.
    """
    parameters = np.column_stack([model.discrimination, model.difficulty])
    return np.asarray(np.round(parameters, _DECIMALS), dtype=np.float64)


def response_vectors(source: ResponseMatrix, model: RaschModel) -> Floats:
    """Pass rate of each question in every run of the source, shape (n, m).

    Missing cells are imputed with the probability of a pass by the Rasch `model` of the source,
    never counted as fails.

    References
    ----------
    Maia Polo et al. 2024 (correctness anchors); She and Lin 2026, historical responses.
    """
    return imputed_rates(
        source.passes, source.trials, ability=model.ability, difficulty=model.difficulty
    ).T


Features = Literal["responses", "parameters"]


def _fit(features: Features, *, gpirt: bool) -> Fit:
    """Learn what anchors are chosen by and, for gp-IRT, the model and constants."""

    def fit(source: ResponseMatrix, rng: np.random.Generator) -> Score:
        mirt = select_mirt(source, rng=rng) if gpirt or features == "parameters" else None
        constants = None
        if gpirt and mirt is not None:
            refit_earlier = partial(refit_mirt, like=mirt)
            constants = fit_gpirt_constants(source, rng=rng, fit=refit_earlier)
        if features == "parameters" and mirt is not None:
            vectors = parameter_vectors(mirt)
        else:
            vectors = response_vectors(source, fit_rasch(source))

        def score(targets: ResponseMatrix, k: int, rng: np.random.Generator) -> Scored:
            """Choose one set of anchors for all targets and estimate each from its verdicts."""
            weights = anchor_weights(vectors, k, rng=rng)
            asked, valid = weights > 0, targets.trials > 0
            if mirt is None or constants is None:
                found = weighted_score(targets.passes, targets.trials, weights)
            else:
                passes, trials = (np.where(asked, t, 0) for t in (targets.passes, targets.trials))
                found = gpirt_score(
                    mirt,
                    estimate_abilities(mirt, passes, trials),
                    passes,
                    trials,
                    weights=weights,
                    constants=constants,
                    population=valid,
                )
            return Scored(score=found, observed=valid & asked)

        return score

    return fit


def _method(name: str, features: Features, *, gpirt: bool, description: str) -> ReplayMethod:
    return ReplayMethod(
        name=name,
        description=description,
        source="Maia Polo et al. 2024; She and Lin 2026",
        fit=_fit(features, gpirt=gpirt),
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
