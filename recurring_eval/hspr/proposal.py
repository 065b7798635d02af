"""Where the posterior's nodes lie: a normal proposal at the mode, and a scrambled Sobol sequence.

HSPR, Appendix A.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import qmc

from recurring_eval.errors import FitError
from recurring_eval.hspr.config import LatentPrior

SIMULATION_SEED: Final = 20261005
"""Published seed of the scrambling and of the predictive draws."""

SMALLEST: Final = 2.0**-53


@lru_cache(maxsize=32)
def normal_nodes(n_nodes: int, dimension: int) -> NDArray[np.float64]:
    """First `n_nodes` points, mapped through the normal quantile function.

    Parameters
    ----------
    n_nodes : int
        A power of two.
    dimension : int

    Returns
    -------
    ndarray, shape (dimension, n_nodes)
        Read-only; the same points on every call.
    """
    sequence = qmc.Sobol(dimension, scramble=True, rng=SIMULATION_SEED)
    points = np.clip(sequence.random(n_nodes), SMALLEST, 1.0 - SMALLEST)
    nodes = np.ascontiguousarray(special.ndtri(points).T)
    nodes.setflags(write=False)
    return nodes


@dataclass(slots=True)
class Component:
    """Nodes that belong to one latent prior.

    Attributes
    ----------
    prior : LatentPrior
    loadings : ndarray, shape (G, d)
    columns : slice
        Its nodes among all.
    nodes : ndarray, shape (d, J_c)
        Latent states.
    """

    prior: LatentPrior
    loadings: NDArray[np.float64]
    columns: slice
    nodes: NDArray[np.float64]


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
