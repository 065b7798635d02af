"""How well estimates recover full scores and their order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from recurring_eval.errors import InputError

LEVEL: Final = 0.9
"""Nominal coverage of the intervals that replays judge."""

_DECIMALS: Final = 10
_NOISE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMetrics:
    """Metrics of one method and budget over the targets of a split, or means of such.

    Attributes
    ----------
    mae_pp, max_error_pp, bias_pp : float
        Mean absolute, largest absolute and mean signed error (estimate less full
        score) in percentage points.
    spearman, kendall_tau : float
        Rank correlations of estimates and full scores, ties allowed for (tau-b); NaN
        where one of both has no order.
    execution_fraction : float
        Mean share of a run's valid questions whose verdicts were used.
    coverage_90 : float
        Share of intervals that hold the full score; NaN without intervals.
    width_90_pp : float
        Their mean width; NaN without intervals.
    n_targets : float
        Targets with an estimate.
    """

    mae_pp: float
    max_error_pp: float
    bias_pp: float
    spearman: float
    kendall_tau: float
    execution_fraction: float
    coverage_90: float
    width_90_pp: float
    n_targets: float


def score_metrics(
    estimate: ArrayLike,
    truth: ArrayLike,
    *,
    n_executed: ArrayLike,
    n_valid: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
) -> ScoreMetrics:
    """Compare estimates with full scores over pooled targets.

    Parameters
    ----------
    estimate, truth : array_like, shape (m,)
        Fractions. Targets whose estimate is NaN are left out.
    n_executed : array_like, shape (m,)
        Questions executed for each target.
    n_valid : array_like, shape (m,)
        Questions with a valid verdict in each target's full run.
    low, high : array_like, shape (m,), optional
        Intervals; a target with NaN has none.

    Raises
    ------
    InputError
        Without a single estimate.
    """
    estimates, scores = np.asarray(estimate, dtype=float), np.asarray(truth, dtype=float)
    known = np.isfinite(estimates)
    if not known.any():
        raise InputError("no target has an estimate, so there is nothing to measure")
    error = 100.0 * (estimates[known] - scores[known])
    coverage, width = _intervals(scores[known], _at(low, known), _at(high, known))
    # Equal estimates must stay tied whatever the order of their sums.
    ranked, order = estimates[known].round(_DECIMALS), scores[known].round(_DECIMALS)
    return ScoreMetrics(
        mae_pp=float(np.abs(error).mean()),
        max_error_pp=float(np.abs(error).max()),
        bias_pp=float(error.mean()),
        spearman=_correlation(stats.spearmanr, ranked, order),
        kendall_tau=_correlation(stats.kendalltau, ranked, order),
        execution_fraction=float((np.asarray(n_executed) / np.asarray(n_valid))[known].mean()),
        coverage_90=coverage,
        width_90_pp=width,
        n_targets=float(known.sum()),
    )


def mean_metrics(metrics: Sequence[ScoreMetrics]) -> ScoreMetrics:
    """Mean of each metric, over those in which it is known."""
    return ScoreMetrics(
        **{
            field.name: mean_of_known([getattr(m, field.name) for m in metrics])
            for field in fields(ScoreMetrics)
        }
    )


def mean_of_known(values: ArrayLike) -> float:
    """Mean of the finite values; NaN without any."""
    array = np.asarray(values, dtype=float)
    finite = array[np.isfinite(array)]
    return float(finite.mean()) if finite.size else float("nan")


def _at(values: ArrayLike | None, known: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    return None if values is None else np.asarray(values, dtype=float)[known]


def _intervals(
    truth: NDArray[np.float64],
    low: NDArray[np.float64] | None,
    high: NDArray[np.float64] | None,
) -> tuple[float, float]:
    if low is None or high is None:
        return float("nan"), float("nan")
    given = np.isfinite(low) & np.isfinite(high)
    held = (low - _NOISE <= truth) & (truth <= high + _NOISE)
    return mean_of_known(held[given]), mean_of_known(100.0 * (high - low)[given])


def _correlation(
    measure: Callable[..., Any], first: NDArray[np.float64], second: NDArray[np.float64]
) -> float:
    if first.size < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(measure(first, second).statistic)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetErrors:
    """Errors on each target of a group, over splits and seeds.

    Attributes
    ----------
    rows : ndarray of intp, shape (m,)
        Rows of the response matrix.
    full_pass_rate, estimate : ndarray, shape (m,)
        Fractions; the estimate is the mean, NaN where there was none.
    absolute_error_pp : ndarray, shape (m,)
        Mean absolute error.
    worst_error_pp : ndarray, shape (m,)
        The signed error of largest size.
    first_error_pp : ndarray, shape (m,)
        The signed error of the first estimate: one draw, where the mean over many would
        hide what a single estimate is off by.
    """

    rows: NDArray[np.intp]
    full_pass_rate: NDArray[np.float64]
    estimate: NDArray[np.float64]
    absolute_error_pp: NDArray[np.float64]
    worst_error_pp: NDArray[np.float64]
    first_error_pp: NDArray[np.float64]


def target_errors(
    errors: NDArray[np.float64], truth: NDArray[np.float64], rows: NDArray[np.intp]
) -> TargetErrors:
    """Summarise the errors on each run.

    Parameters
    ----------
    errors : ndarray, shape (n_estimates, n_runs)
        Signed, in pp; NaN where a run was not tested.
    truth : ndarray, shape (n_runs,)
    rows : ndarray of intp
        Runs to keep.
    """
    mine = errors[:, rows]
    known = np.isfinite(mine)
    count = known.sum(axis=0)
    filled = np.where(known, mine, 0.0)
    with np.errstate(invalid="ignore"):
        bias = filled.sum(axis=0) / np.where(count > 0, count, np.nan)
        absolute = np.abs(filled).sum(axis=0) / np.where(count > 0, count, np.nan)
    largest = np.abs(filled).argmax(axis=0)
    worst = np.where(count > 0, filled[largest, np.arange(rows.size)], np.nan)
    return TargetErrors(
        rows=rows,
        full_pass_rate=truth[rows],
        estimate=truth[rows] + bias / 100.0,
        absolute_error_pp=absolute,
        worst_error_pp=worst,
        first_error_pp=mine[known.argmax(axis=0), np.arange(rows.size)],
    )
