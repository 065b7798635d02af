"""Gaussian proposal of the latent state: an auxiliary logistic-normal mode.

HSPR, Appendix A, *Posterior proposal and updates*: each observed group has a local
offset with quadratic precision kappa, solved beside the latent state by a Schur
complement.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from recurring_eval.errors import FitError

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-11
MAX_ITERATIONS: Final = 200
MAX_HALVINGS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Normal distribution with the mode as mean; d coordinates.

    Attributes
    ----------
    mean : ndarray, shape (d,)
    precision : ndarray, shape (d, d)
    """

    mean: Floats
    precision: Floats

    @property
    def transform(self) -> Floats:
        """Lower Cholesky factor of the covariance, shape (d, d)."""
        return np.asarray(np.linalg.cholesky(np.linalg.inv(self.precision)))

    @property
    def log_determinant(self) -> float:
        """Of the precision."""
        return float(np.linalg.slogdet(self.precision)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCounts:
    """Observed groups only: parameters and counts, O groups.

    Attributes
    ----------
    intercept : ndarray, shape (O,)
    loadings : ndarray, shape (O, d)
    passes, fails : ndarray, shape (O,)
    """

    intercept: Floats
    loadings: Floats
    passes: Floats
    fails: Floats


def map_proposal(counts: GroupCounts, prior_precision: Floats, kappa: float) -> Proposal:
    """Joint mode of latent state and local offsets, by Newton steps with halving.

    Parameters
    ----------
    counts : GroupCounts
    prior_precision : ndarray, shape (d,)
        Diagonal P.
    kappa : float
        Precision of the offsets; infinite for none.

    Raises
    ------
    FitError
        The mode was not reached.
    """
    z = np.zeros(len(prior_precision))
    offset = np.zeros(len(counts.intercept))
    trials = counts.passes + counts.fails
    offset_variance = 1.0 / kappa
    height = _log_density(counts, prior_precision, kappa, z, offset)
    for _ in range(MAX_ITERATIONS):
        p = special.expit(counts.intercept + counts.loadings @ z + offset)
        residual = counts.passes - trials * p
        information = trials * p * (1.0 - p)
        # 1 / (1 + D / kappa): what is left of a group's pull once its offset has followed.
        kept = 1.0 / (1.0 + information * offset_variance)
        precision = (counts.loadings.T * (information * kept)) @ counts.loadings
        precision[np.diag_indices_from(precision)] += prior_precision
        pull = kept * (residual + information * offset)
        gradient = counts.loadings.T @ pull - prior_precision * z
        step_z = np.linalg.solve(precision, gradient)
        step_offset = kept * (
            offset_variance * (residual - information * (counts.loadings @ step_z)) - offset
        )
        largest = max(np.abs(step_z).max(), np.abs(step_offset).max(initial=0.0))
        if largest < TOLERANCE * (1.0 + np.abs(z).max()):
            return Proposal(mean=z + step_z, precision=precision)
        for _ in range(MAX_HALVINGS):
            reached = _log_density(counts, prior_precision, kappa, z + step_z, offset + step_offset)
            # Near the mode the gain drowns in rounding; the step is still right.
            if reached >= height - 1e-9 * (1.0 + abs(height)):
                break
            step_z, step_offset = step_z / 2.0, step_offset / 2.0
        z, offset, height = z + step_z, offset + step_offset, reached
    raise FitError("the mode of the latent state did not converge; check the model's parameters")


def _log_density(
    counts: GroupCounts, prior_precision: Floats, kappa: float, z: Floats, offset: Floats
) -> float:
    eta = counts.intercept + counts.loadings @ z + offset
    likelihood = counts.passes @ special.log_expit(eta) + counts.fails @ special.log_expit(-eta)
    penalty = prior_precision @ z**2
    if np.isfinite(kappa):
        penalty += kappa * (offset @ offset)
    return float(likelihood - penalty / 2.0)
