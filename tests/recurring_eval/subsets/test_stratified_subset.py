"""Stratified subsets against worked example G and a literal reading of the design."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurring_eval.errors import InputError
from recurring_eval.subsets import random_subset, stratified_subset
from tests.rasch_models import make_model, strata

EXAMPLE_G = (0.3, -1.2, 2.0, 0.9, -0.4, 1.4, -2.0)


def literal_choice(difficulty: list[float], k: int) -> list[tuple[int, int]]:
    """(Question, stratum size) by exact decimal arithmetic, as the design words it."""
    micro = [round(round(value, 6) * 1_000_000) for value in difficulty]
    order = sorted(range(len(micro)), key=lambda j: (micro[j], f"q{j:04d}"))
    chosen = []
    for stratum in np.array_split(np.array(order), k):
        values = [micro[j] for j in stratum]
        twice_median = values[(len(values) - 1) // 2] + values[len(values) // 2]
        nearest = min(range(len(values)), key=lambda i: (abs(2 * values[i] - twice_median), i))
        chosen.append((int(stratum[nearest]), len(stratum)))
    return chosen


def test_worked_example_g() -> None:
    model = make_model(EXAMPLE_G)
    assert [part.tolist() for part in strata(model, 3)] == [[6, 1, 4], [0, 3], [5, 2]]
    subset = stratified_subset(model, "bank", 3)
    assert subset.question_ids == ("q0000", "q0001", "q0005")
    np.testing.assert_allclose(subset.weights, [2 / 7, 3 / 7, 2 / 7])


@given(
    st.lists(
        st.one_of(st.integers(-3, 3).map(float), st.floats(-8, 8, width=32)),
        min_size=1,
        max_size=40,
    ),
    st.data(),
)
def test_choice_is_the_literal_one(difficulty: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(difficulty)))
    subset = stratified_subset(make_model(difficulty), "bank", k)
    expected = sorted(literal_choice(difficulty, k))
    assert subset.question_ids == tuple(f"q{j:04d}" for j, _ in expected)
    np.testing.assert_allclose(subset.weights, [size / len(difficulty) for _, size in expected])


def test_equally_near_the_median_takes_the_first_whatever_floats_say() -> None:
    # |.1 - .2| > |.3 - .2| in doubles, though both are .1.
    assert abs(0.1 - 0.2) > abs(0.3 - 0.2)
    assert stratified_subset(make_model([0.3, 0.1]), "bank", 1).question_ids == ("q0001",)


def test_question_order_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    difficulty = rng.integers(-4, 5, size=60).astype(float)
    straight = stratified_subset(make_model(difficulty), "bank", 17)
    shuffle = rng.permutation(60)
    names = tuple(f"q{j:04d}" for j in shuffle)
    shuffled = stratified_subset(make_model(difficulty[shuffle], question_ids=names), "bank", 17)
    assert shuffled.sha256 == straight.sha256
    np.testing.assert_array_equal(shuffled.weights, straight.weights)
    drawn = [
        random_subset(model, "bank", 17, rng=np.random.default_rng(3)).question_ids
        for model in (make_model(difficulty), make_model(difficulty[shuffle], question_ids=names))
    ]
    assert drawn[0] == drawn[1]


def test_hash_is_of_the_documented_json() -> None:
    subset = stratified_subset(make_model([0.0, 1.0], question_ids=("a-ü", "b")), "v1", 2, seed=5)
    text = '["v1","stratified",2,5,["a-ü","b"]]'
    assert json.loads(text) == ["v1", "stratified", 2, 5, list(subset.question_ids)]
    assert subset.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_tie_order_replaces_the_order_of_keys() -> None:
    model = make_model(np.zeros(4))
    assert stratified_subset(model, "b", 1).question_ids == ("q0000",)
    reverse = np.array([3, 2, 1, 0])
    assert stratified_subset(model, "b", 1, tie_order=reverse).question_ids == ("q0003",)
    with pytest.raises(InputError, match="tie_order"):
        stratified_subset(model, "b", 1, tie_order=np.array([0, 0, 1, 2]))


@pytest.mark.parametrize("k", [0, -1, 5])
def test_impossible_sizes_are_refused(k: int) -> None:
    with pytest.raises(InputError, match="between 1 and 4"):
        stratified_subset(make_model(np.zeros(4)), "b", k)
    with pytest.raises(InputError, match="between 1 and 4"):
        random_subset(make_model(np.zeros(4)), "b", k, rng=np.random.default_rng(0))


def test_random_subsets_are_uniform() -> None:
    rng = np.random.default_rng(7)
    model = make_model(np.linspace(-2, 2, 10))
    drawn = [random_subset(model, "b", 3, rng=rng) for _ in range(2000)]
    counts = np.array(
        [sum(q in subset.question_ids for subset in drawn) for q in model.question_ids]
    )
    # Each count is binomial(2000, .3), SD 20.5; five SDs for ten of them.
    assert np.abs(counts - 600).max() < 103
    np.testing.assert_allclose(drawn[0].weights, 1 / 3)
