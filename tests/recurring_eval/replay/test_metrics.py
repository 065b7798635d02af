"""Metrics against pandas and brute force, paired comparisons against scipy and theory."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recurring_eval.errors import InputError
from recurring_eval.replay.compare import compare_methods, holm
from recurring_eval.replay.metrics import ScoreMetrics, mean_metrics, score_metrics

scores = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=30)


def tau_b_by_counting(x, y) -> float:
    """Kendall's tau-b from its definition, pair by pair."""
    concordant = sum(
        np.sign((a - c) * (b - d)) for (a, b), (c, d) in combinations(zip(x, y, strict=True), 2)
    )
    pairs = len(x) * (len(x) - 1) / 2
    tied_x = sum(a == c for a, c in combinations(x, 2))
    tied_y = sum(b == d for b, d in combinations(y, 2))
    return concordant / np.sqrt((pairs - tied_x) * (pairs - tied_y))


@settings(max_examples=80)
@given(pairs=scores)
def test_metrics_equal_pandas_and_brute_force(pairs) -> None:
    estimate, truth = (np.array(column) / 20 for column in zip(*pairs, strict=True))
    n_executed = np.arange(1, len(estimate) + 1)
    found = score_metrics(estimate, truth, n_executed=n_executed, n_valid=40)
    error = pd.Series(100 * (estimate - truth))
    assert found.mae_pp == pytest.approx(error.abs().mean())
    assert found.max_error_pp == pytest.approx(error.abs().max())
    assert found.bias_pp == pytest.approx(error.mean(), abs=1e-12)
    assert found.execution_fraction == pytest.approx((n_executed / 40).mean())
    assert found.n_targets == len(pairs)
    if len(set(estimate)) > 1 and len(set(truth)) > 1:
        frame = pd.DataFrame({"estimate": estimate, "truth": truth}).rank()
        assert found.spearman == pytest.approx(frame.corr().iloc[0, 1])
        assert found.kendall_tau == pytest.approx(tau_b_by_counting(*zip(*pairs, strict=True)))
        assert found.kendall_tau == pytest.approx(stats.kendalltau(estimate, truth).statistic)
    else:
        assert np.isnan([found.spearman, found.kendall_tau]).all()
    assert np.isnan([found.coverage_90, found.width_90_pp]).all()


def test_intervals_hold_their_ends_and_missing_ones_do_not_count() -> None:
    found = score_metrics(
        [0.5, 0.5, 0.5, 0.5],
        [0.4, 0.61, 0.6, 0.9],
        n_executed=[1, 1, 1, 1],
        n_valid=10,
        low=[0.4, 0.4, 0.4, np.nan],
        high=[0.6, 0.6, 0.6, np.nan],
    )
    assert found.coverage_90 == pytest.approx(2 / 3)
    assert found.width_90_pp == pytest.approx(20)


def test_targets_without_an_estimate_are_left_out() -> None:
    found = score_metrics([np.nan, 0.5], [0.9, 0.4], n_executed=[0, 5], n_valid=[10, 10])
    assert (found.mae_pp, found.n_targets) == (pytest.approx(10), 1)
    assert found.execution_fraction == pytest.approx(0.5)
    with pytest.raises(InputError, match="no target has an estimate"):
        score_metrics([np.nan], [0.4], n_executed=[0], n_valid=[10])


def test_noise_of_summation_leaves_ties_tied() -> None:
    tied = [0.1 + 0.2, 0.3, 0.5]
    found = score_metrics(tied, [0.3, 0.3, 0.5], n_executed=[1] * 3, n_valid=10)
    assert found.kendall_tau == pytest.approx(1)


def test_means_pass_over_unknown_metrics() -> None:
    nan = float("nan")
    first = ScoreMetrics(
        mae_pp=1, max_error_pp=2, bias_pp=0, spearman=nan, kendall_tau=nan,
        execution_fraction=0.1, coverage_90=nan, width_90_pp=nan, n_targets=4,
    )  # fmt: skip
    second = ScoreMetrics(
        mae_pp=3, max_error_pp=4, bias_pp=1, spearman=0.5, kendall_tau=nan,
        execution_fraction=0.3, coverage_90=nan, width_90_pp=nan, n_targets=4,
    )  # fmt: skip
    mean = mean_metrics([first, second])
    assert (mean.mae_pp, mean.max_error_pp, mean.bias_pp, mean.spearman) == (2, 3, 0.5, 0.5)
    assert np.isnan(mean.kendall_tau)


def holm_by_definition(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [0.0] * len(p)
    for place, i in enumerate(order):
        earlier = [p[j] * (len(p) - r) for r, j in enumerate(order[: place + 1])]
        adjusted[i] = min(1.0, max(earlier))
    return adjusted


@given(p=st.lists(st.floats(0, 1), max_size=12))
def test_holm_by_definition(p) -> None:
    assert holm(p).tolist() == pytest.approx(holm_by_definition(p))


def test_comparisons_against_scipy() -> None:
    rng = np.random.default_rng(5)
    base = rng.gamma(2.0, 1.5, size=60)
    errors = {
        "10%": {"a": base, "b": base + rng.normal(0.4, 0.7, 60), "c": base * 1.01},
        "20%": {"a": base / 2, "b": base / 2 + 0.1, "c": base / 2},
    }
    found = compare_methods(errors, rng=np.random.default_rng(1))
    assert [(f.budget, f.first, f.second) for f in found[:3]] == [
        ("10%", "a", "c"),
        ("10%", "a", "b"),
        ("10%", "c", "b"),
    ]
    for pair in found:
        difference = errors[pair.budget][pair.first] - errors[pair.budget][pair.second]
        assert pair.difference_pp == pytest.approx(difference.mean())
        if difference.any():
            expected = stats.wilcoxon(difference.round(12))
            assert pair.p_value == pytest.approx(expected.pvalue)
        else:
            assert pair.p_value == 1
        interval = stats.bootstrap(
            (difference,), np.mean, method="percentile", rng=np.random.default_rng(2)
        ).confidence_interval
        spread = difference.std() / np.sqrt(60)
        assert pair.low_pp == pytest.approx(interval.low, abs=0.1 * spread + 1e-9)
        assert pair.high_pp == pytest.approx(interval.high, abs=0.1 * spread + 1e-9)
    assert [f.p_holm for f in found] == pytest.approx(
        holm_by_definition([f.p_value for f in found])
    )


def test_comparisons_leave_out_targets_without_figures_and_lone_methods() -> None:
    rng = np.random.default_rng(0)
    assert compare_methods({"5": {"a": [1.0, 2.0]}}, rng=rng) == []
    assert compare_methods({"5": {"a": [1.0, np.nan], "b": [np.nan, 1.0]}}, rng=rng) == []
    (pair,) = compare_methods(
        {"5": {"a": [1.0, 2.0, np.nan, 1.0], "b": [2.0, 4.0, 0.0, 2.0]}}, rng=rng
    )
    assert (pair.n_targets, pair.difference_pp) == (3, pytest.approx(-4 / 3))
