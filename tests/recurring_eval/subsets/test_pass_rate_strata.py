"""Strata of the historical pass rate: quotas, weights and what they estimate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurring_eval.subsets import pass_rate_strata, proportional_quotas


@given(sizes=st.lists(st.integers(0, 30), min_size=1, max_size=8), share=st.floats(0, 1))
def test_quotas_are_proportional_and_sum_to_k(sizes: list[int], share: float) -> None:
    total = sum(sizes)
    k = round(share * total)
    quotas = proportional_quotas(np.array(sizes), k)
    assert quotas.sum() == k
    for size, quota in zip(sizes, quotas, strict=True):
        assert 0 <= quota <= size
        assert abs(quota - (size * k / total if total else 0)) < 1


def test_equal_remainders_are_served_in_order():
    assert proportional_quotas(np.array([3, 3, 3]), 4).tolist() == [2, 1, 1]


@given(n=st.integers(1, 60), data=st.data())
def test_weights_are_strata_shares_of_k_distinct_questions(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    trials = rng.integers(0, 6, size=n)
    weights = pass_rate_strata(rng.binomial(trials, 0.5), trials, k, rng=rng)
    assert np.count_nonzero(weights) == k
    assert weights.sum() == pytest.approx(1.0)


def test_each_tenth_of_the_bank_is_represented():
    passes = np.random.default_rng(0).permutation(100)
    weights = pass_rate_strata(passes, np.full(100, 100), 20, rng=np.random.default_rng(1))
    assert np.bincount(passes[weights > 0] // 10).tolist() == [2] * 10


def test_the_weighted_mean_is_unbiased():
    rng = np.random.default_rng(2)
    passes = rng.integers(0, 11, size=37)
    outcome = rng.random(37) < passes / 10
    draws = [pass_rate_strata(passes, np.full(37, 10), 11, rng=rng) @ outcome for _ in range(4000)]
    assert np.mean(draws) == pytest.approx(outcome.mean(), abs=4 * np.std(draws) / np.sqrt(4000))
