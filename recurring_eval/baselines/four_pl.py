"""Curves of the 2PL, 3PL and 4PL models for one ability, and ability by EAP."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from recurring_eval.irt import sigmoid

Floats = NDArray[np.float64]

SMALLEST: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class FourPl:
    r"""Item parameters: :math:`P(\theta) = c + (d - c)\,\sigma(a(\theta - b))`.

    With ``lower = 0`` and ``upper = 1`` it is the 2PL, with ``upper = 1`` the 3PL.

    Attributes
    ----------
    slope, location, lower, upper : ndarray, shape (n,)
        a, b, c and d.
    """

    slope: Floats
    location: Floats
    lower: Floats
    upper: Floats

    def probability(self, ability: ArrayLike) -> Floats:
        """Chance of a pass for abilities that broadcast with the items, in (0, 1)."""
        s = sigmoid(self.slope * (np.asarray(ability) - self.location))
        p = self.lower + (self.upper - self.lower) * s
        return np.clip(p, SMALLEST, 1.0 - SMALLEST)

    def information(self, ability: ArrayLike) -> Floats:
        r"""Fisher information about ability, :math:`P'^2 / (P (1 - P))`."""
        s = sigmoid(self.slope * (np.asarray(ability) - self.location))
        span = self.upper - self.lower
        p = np.clip(self.lower + span * s, SMALLEST, 1.0 - SMALLEST)
        return (self.slope * span * s * (1.0 - s)) ** 2 / (p * (1.0 - p))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbilityGrid:
    """Nodes of ability with normal prior weights that sum to one, each of shape (q,)."""

    nodes: Floats
    weights: Floats

    @classmethod
    def trapezoid(cls, n_nodes: int, *, limit: float = 4.0) -> "AbilityGrid":
        """Equally spaced nodes on [-limit, limit], N(0, 1), the end weights halved."""
        nodes = np.linspace(-limit, limit, n_nodes)
        weights = np.exp(-(nodes**2) / 2.0)
        weights[[0, -1]] /= 2.0
        return cls(nodes=nodes, weights=weights / weights.sum())


def grid_posterior(log_likelihood: Floats, grid: AbilityGrid) -> Floats:
    """Posterior weights of the nodes, shape (..., q), rows sum to 1."""
    log_weights = log_likelihood + np.log(grid.weights)
    return np.asarray(special.softmax(log_weights, axis=-1))


def eap(log_likelihood: Floats, grid: AbilityGrid) -> tuple[Floats, Floats]:
    """Posterior mean and standard deviation of ability, each of shape (...).

    Parameters
    ----------
    log_likelihood : ndarray, shape (..., q)
        Of the outcomes so far at each node; zeros before any.
    grid : AbilityGrid

    References
    ----------
    Bock and Mislevy 1982; catR's grid has 33 nodes on [-4, 4].
    """
    posterior = grid_posterior(log_likelihood, grid)
    mean = (posterior * grid.nodes).sum(axis=-1)
    deviation = grid.nodes - mean[..., np.newaxis]
    return mean, np.sqrt((posterior * deviation**2).sum(axis=-1))
