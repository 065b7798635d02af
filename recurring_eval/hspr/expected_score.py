"""Posterior of the agent's expected score: the mean of its questions' rates."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr.posterior import NodePosterior


def expected_score(posterior: NodePosterior, population: NDArray[np.bool_]) -> tuple[float, float]:
    """Mean and variance of the average group rate over a population's questions.

    By the law of total variance over the nodes: within a node the group rates are
    independent with HSPR's tau^2 (Appendix B), and a group counts with its questions.

    Parameters
    ----------
    posterior : NodePosterior
    population : ndarray of bool, shape (N,)
    """
    groups = posterior.model.group_of_question[population]
    size = np.bincount(groups, minlength=posterior.model.n_groups).astype(np.float64)
    mean = np.full(posterior.n_nodes, size[posterior.sign < 0].sum())
    within = np.zeros(posterior.n_nodes)
    for part, rows in posterior.blocks():
        rare, concentration, both = posterior.rate_block(part, rows)
        count = size[rows].astype(rare.dtype)
        mean[part.columns] += (posterior.sign[rows].astype(rare.dtype) * count) @ rare
        both /= posterior.config.kappa * concentration + 1.0
        within[part.columns] += count**2 @ both
    average = float(posterior.weights @ mean)
    variance = float(posterior.weights @ (within + (mean - average) ** 2))
    n = len(groups)
    return average / n, variance / n**2
