"""Interval rules against their formulas worked by hand, and coverage in theory."""

import math

import numpy as np
import pytest
from scipy import stats

from recurring_eval.errors import InputError
from recurring_eval.intervals import (
    ConformalScale,
    provisional_half_width,
    rerun_half_width,
    run_to_run_variance,
)


def scale(residuals: list[float], sd: float) -> ConformalScale:
    return ConformalScale(residuals=np.array(residuals), model_sd=np.full(len(residuals), sd))


def test_extra_variance_is_winsorised_and_not_negative() -> None:
    errors = [-0.01, 0.02, -0.03, 0.04, 0.05, -0.06, 0.07, 0.08, -0.09, 0.10]
    cut = 0.09 + 0.55 * 0.01
    expected = (sum(e * e for e in errors[:-1]) + cut**2) / 10 - 0.02**2
    assert scale(errors, 0.02).extra_variance == pytest.approx(expected)
    assert scale(errors, 0.5).extra_variance == 0.0


def test_half_width_takes_the_rank_of_the_level() -> None:
    errors = [0.01 * i for i in range(1, 20)]
    known = scale(errors, 0.5)
    # tau^2 = 0, so t = e/.5; rank ceil(.9 * 20) = 18 is .18, scaled from u = .5 to .25.
    width = known.half_width(0.25, level=0.9, pass_rate=0.5, k=10, n=100)
    assert width.value == pytest.approx(0.09)
    assert not width.provisional
    assert not width.few_residuals


def test_rank_is_exact_for_decimal_levels() -> None:
    # .95 * 20 is 19 exactly; in doubles (1 - .05) * 20 may pass it.
    width = scale([0.01 * i for i in range(1, 20)], 0.5).half_width(
        0.5, level=0.95, pass_rate=0.5, k=10, n=100
    )
    assert width.value == pytest.approx(0.19)
    assert not width.few_residuals


def test_beyond_the_largest_residual_is_flagged() -> None:
    width = scale([0.01 * i for i in range(1, 13)], 0.5).half_width(
        0.5, level=0.95, pass_rate=0.5, k=10, n=100
    )
    assert width.few_residuals
    assert width.value == pytest.approx(1.25 * 0.12)


def test_provisional_rule() -> None:
    expected = stats.t.ppf(0.95, 6) * math.sqrt((4 * 0.21 * 0.8 / 20 + 0.0025 + 0.0016) / 6)
    width = provisional_half_width([0.05, -0.04], 0.3, k=20, n=100, level=0.9)
    assert width == pytest.approx(expected)
    eight = scale([0.05, -0.04] * 4, 0.02)
    assert eight.half_width(0.1, level=0.9, pass_rate=0.3, k=20, n=100).provisional


def test_provisional_width_is_not_zero_for_an_all_pass_run() -> None:
    assert provisional_half_width([], 1.0, k=20, n=100, level=0.9) > 0.05
    assert provisional_half_width([], 1.0, k=100, n=100, level=0.9) == 0.0


def test_coverage_of_exchangeable_studentised_residuals() -> None:
    # With n residuals the chance to cover is ceil(.9(n+1))/(n+1) when the scale is known.
    rng = np.random.default_rng(5)
    n, repeats = 19, 4000
    hits = 0
    for _ in range(repeats):
        errors = rng.normal(0, 0.03, size=n + 1)
        known = ConformalScale(residuals=errors[:n], model_sd=np.full(n, 1.0))
        width = known.half_width(1.0, level=0.9, pass_rate=0.5, k=10, n=100)
        hits += abs(errors[n]) <= width.value
    assert abs(hits / repeats - 0.9) < 4 * math.sqrt(0.09 / repeats)


def test_rerun_formula() -> None:
    z = stats.norm.ppf(0.95)
    width = rerun_half_width(0.03, 0.0004, level=0.9, run_to_run_variance=0.001)
    assert width == pytest.approx(math.sqrt(0.0009 + z**2 * 0.0014))
    assert rerun_half_width(0.01, -1.0, level=0.9) == 0.0


def test_run_to_run_variance() -> None:
    assert run_to_run_variance([]) == 0.0
    assert run_to_run_variance([0.03, -0.05]) == pytest.approx(0.0017)
    assert run_to_run_variance([0.03, -0.05], verdict_variance=0.0004) == pytest.approx(0.0013)
    assert run_to_run_variance([0.01], verdict_variance=0.1) == 0.0


def test_residuals_without_their_model_sd_are_refused() -> None:
    with pytest.raises(InputError, match="equally long"):
        ConformalScale(residuals=np.zeros(3), model_sd=np.zeros(2))
