"""Posterior distribution of a score."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.validation import read_only_floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDistribution:
    """Probability of every value that a score over N questions can take.

    Attributes
    ----------
    values : ndarray, shape (N + 1,)
        Pass rates in ascending order: ``k / N``, moved by a fraction of a question
        where questions were tried more than once.
    pmf : ndarray, shape (N + 1,)
        Their probabilities; sum to 1.
    """

    values: NDArray[np.float64]
    pmf: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", read_only_floats(self.values))
        object.__setattr__(self, "pmf", read_only_floats(self.pmf))
        if self.values.ndim != 1 or self.values.shape != self.pmf.shape or not len(self.values):
            raise ValueError("`values` and `pmf` must be equally long vectors")
        if not (np.isfinite(self.values).all() and (np.diff(self.values) >= 0).all()):
            raise ValueError("`values` must be finite and ascending")
        if not ((self.pmf >= 0).all() and abs(float(self.pmf.sum()) - 1.0) <= 1e-9):
            raise ValueError("`pmf` must hold probabilities that sum to 1")

    def quantile(self, share: float) -> float:
        """Smallest value whose cumulative probability reaches `share`."""
        reached = np.cumsum(self.pmf) >= share - 1e-12
        return float(self.values[int(np.argmax(reached))] if reached.any() else self.values[-1])
