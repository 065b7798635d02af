"""Independent fits to compare with: a general optimiser on the textbook objective."""

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from recurring_eval.response_matrix import ResponseMatrix


def rasch_objective(
    parameters: NDArray[np.float64],
    matrix: ResponseMatrix,
    ability_sd: float = 1.0,
    difficulty_sd: float = 3.0,
) -> tuple[float, NDArray[np.float64]]:
    """Negative log posterior of (abilities, difficulties) and its gradient."""
    theta, beta = np.split(parameters, [matrix.n_runs])
    x = theta[:, np.newaxis] - beta
    passes = matrix.passes.astype(float)
    fails = matrix.trials - passes
    value = np.sum(passes * np.logaddexp(0, -x) + fails * np.logaddexp(0, x))
    value += np.sum(theta**2) / (2 * ability_sd**2) + np.sum(beta**2) / (2 * difficulty_sd**2)
    residual = passes - matrix.trials / (1 + np.exp(-x))
    gradient = np.concatenate(
        [
            theta / ability_sd**2 - residual.sum(axis=1),
            beta / difficulty_sd**2 + residual.sum(axis=0),
        ]
    )
    return float(value), gradient


def rasch_by_lbfgs(
    matrix: ResponseMatrix, ability_sd: float = 1.0, difficulty_sd: float = 3.0
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Log posterior, abilities and difficulties of a tight L-BFGS-B run from zero."""
    result = optimize.minimize(
        rasch_objective,
        np.zeros(matrix.n_runs + matrix.n_questions),
        args=(matrix, ability_sd, difficulty_sd),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-7, "maxcor": 20},
    )
    theta, beta = np.split(result.x, [matrix.n_runs])
    return -float(result.fun), theta, beta
