"""Durations and costs."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.table.column import Column, normalised

_MILLISECONDS: Final = "latency_ms"


def amounts(column: Column | None, n_rows: int) -> NDArray[np.float64]:
    """Non-negative numbers, durations in seconds; NaN where the cell has none."""
    if column is None:
        return np.full(n_rows, np.nan)
    numbers = np.array([_amount(value) for value in column.scalars()], dtype=np.float64)
    if normalised(column.name) == _MILLISECONDS:
        numbers = numbers / 1000.0
    return column.take(numbers, np.nan)


def _amount(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else float("nan")
    except (ValueError, OverflowError):
        return float("nan")
    return number if 0.0 <= number < float("inf") else float("nan")
