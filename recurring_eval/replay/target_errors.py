"""Errors run by run, over the splits and seeds of a replay."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
