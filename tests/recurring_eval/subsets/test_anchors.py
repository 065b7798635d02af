"""Anchor questions against worked example F, brute force and awkward banks."""

from itertools import product

import numpy as np
import pytest

from recurring_eval.calibration import fit_rasch
from recurring_eval.calibration.mirt import fit_mirt
from recurring_eval.errors import InputError
from recurring_eval.irt import imputed_rates
from recurring_eval.methods.kmeans import anchor_weights, parameter_vectors, response_vectors
from tests.response_matrices import make_matrix, permuted, simulate_rasch

EXAMPLE_F = np.array(
    [[1, 1, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0], [1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 1, 0]]
)


@pytest.mark.parametrize("seed", range(5))
def test_worked_example_f(seed):
    weights = anchor_weights(EXAMPLE_F.T.astype(float), 3, rng=np.random.default_rng(seed))
    assert np.flatnonzero(weights).tolist() == [0, 1, 4]
    assert weights[[0, 1, 4]] == pytest.approx([1 / 3] * 3)
    assert weights @ np.array([1, 1, 0, 1, 0, 0]) == pytest.approx(0.666667, abs=1e-6)


def test_clusters_have_the_smallest_inertia_of_all_partitions():
    vectors = np.random.default_rng(3).normal(size=(8, 2))

    def inertia(labels):
        return sum(
            ((vectors[labels == c] - vectors[labels == c].mean(axis=0)) ** 2).sum()
            for c in np.unique(labels)
        )

    best = min((np.array(labels) for labels in product(range(3), repeat=8)), key=inertia)
    weights = anchor_weights(vectors, 3, rng=np.random.default_rng(0))
    anchors = np.flatnonzero(weights)
    expected = set()
    for c in np.unique(best):
        members = np.flatnonzero(best == c)
        centre = vectors[members].mean(axis=0)
        expected.add(int(members[((vectors[members] - centre) ** 2).sum(axis=1).argmin()]))
    assert set(anchors.tolist()) == expected
    sizes = sorted(np.bincount(best)[np.bincount(best) > 0])
    assert sorted(weights[anchors] * 8) == pytest.approx(sizes)


@pytest.mark.parametrize("k", range(1, 13))
def test_k_distinct_anchors_even_with_three_distinct_questions(k):
    vectors = np.repeat([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], [7, 4, 1], axis=0)
    weights = anchor_weights(vectors, k, rng=np.random.default_rng(k))
    assert np.count_nonzero(weights) == k
    assert weights.sum() == pytest.approx(1.0)
    if k >= 3:
        groups = [weights[:7].sum(), weights[7:11].sum(), weights[11]]
        assert groups == pytest.approx([7 / 12, 4 / 12, 1 / 12])


def test_nearly_equal_questions_still_give_k_anchors():
    rng = np.random.default_rng(1)
    vectors = np.repeat(rng.normal(size=(3, 4)), 5, axis=0) + rng.normal(0, 1e-15, size=(15, 4))
    assert np.count_nonzero(anchor_weights(vectors, 9, rng=rng)) == 9


def test_k_outside_the_bank_is_refused():
    with pytest.raises(InputError, match="`k` is 5"):
        anchor_weights(np.eye(4), 5, rng=np.random.default_rng(0))


def anchors_of(matrix, vectors_of, k):
    """Weights of the anchors, as a replay chooses them from runs in canonical order."""
    source = matrix.in_canonical_order()
    return anchor_weights(vectors_of(source), k, rng=np.random.default_rng(1))


def rates_of(source):
    return response_vectors(source, fit_rasch(source))


def test_response_anchors_do_not_depend_on_order_and_impute_missing_cells():
    rng = np.random.default_rng(7)
    matrix = simulate_rasch(rng.normal(size=9), rng.normal(size=20), rng=rng, missing=0.2)
    other = permuted(matrix, rng.permutation(9).tolist(), rng.permutation(20).tolist())
    first, second = (anchors_of(m, rates_of, 6) for m in (matrix, other))
    np.testing.assert_array_equal(first, second)
    assert np.count_nonzero(first) == 6


def test_imputed_cells_are_the_models_probabilities():
    rates = imputed_rates(
        np.array([[1, 0], [2, 0]]),
        np.array([[2, 0], [2, 1]]),
        ability=np.array([0.5, 0.0]),
        difficulty=np.array([0.0, 1.5]),
    )
    assert rates == pytest.approx(np.array([[0.5, 1 / (1 + np.e)], [1.0, 0.0]]))


def test_irt_anchors_do_not_depend_on_order():
    rng = np.random.default_rng(8)
    matrix = simulate_rasch(rng.normal(size=30), rng.normal(size=25), rng=rng, missing=0.1)
    other = permuted(matrix, rng.permutation(30).tolist(), rng.permutation(25).tolist())

    def parameters_of(source):
        return parameter_vectors(fit_mirt(source, dimensions=2, discrimination_sd=0.5))

    first, second = (anchors_of(m, parameters_of, 7) for m in (matrix, other))
    np.testing.assert_array_equal(first, second)


def test_one_anchor_of_questions_that_are_all_alike_is_the_first():
    matrix = make_matrix([[1, 1, 1], [0, 0, 0], [1, 1, 1]])
    assert anchors_of(matrix, rates_of, 1).tolist() == [1, 0, 0]
