"""Ability of one run with its uncertainty."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.validation import read_only_floats


@dataclass(frozen=True, slots=True, kw_only=True)
class AbilityEstimate:
    """Posterior mode of a run's ability and the inverse posterior information.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
    n_observed : int
        Number of questions with a valid verdict.
    """

    theta: NDArray[np.float64]
    covariance: NDArray[np.float64]
    n_observed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", read_only_floats(self.theta))
        object.__setattr__(self, "covariance", read_only_floats(self.covariance))
        if not (np.isfinite(self.theta).all() and np.isfinite(self.covariance).all()):
            raise ValueError("ability estimate is not finite")
