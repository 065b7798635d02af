"""Nodes of the posterior: a scrambled Sobol sequence (HSPR, Appendix A)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import qmc

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
