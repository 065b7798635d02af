"""Multidimensional models with given parameters, and a reference fit, for tests."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from recurring_eval.calibration.models import MirtModel
from recurring_eval.response_matrix import ResponseMatrix
from tests.response_matrices import make_matrix


def make_mirt_model(
    discrimination: ArrayLike,
    difficulty: ArrayLike,
    *,
    question_ids: tuple[str, ...] | None = None,
    prior_mean: ArrayLike | None = None,
    prior_precision: float = 0.05,
) -> MirtModel:
    """Model with the given parameters; questions q0000.. unless named."""
    slopes = np.asarray(discrimination, dtype=np.float64)
    beta = np.asarray(difficulty, dtype=np.float64)
    d = slopes.shape[1]
    return MirtModel(
        question_ids=question_ids or tuple(f"q{j:04d}" for j in range(len(beta))),
        discrimination=slopes,
        difficulty=beta,
        run_ids=("r0000", "r0001"),
        ability=np.vstack([np.full(d, -1.0), np.full(d, 1.0)]),
        n_responses=np.full(len(beta), 10),
        prior_mean=np.zeros(d) if prior_mean is None else np.asarray(prior_mean),
        prior_precision=prior_precision,
        discrimination_sd=0.25,
        log_posterior=-1.0,
        log_likelihood=-1.0,
        converged=True,
        n_iterations=1,
    )


def random_mirt_model(n: int, d: int, rng: np.random.Generator) -> MirtModel:
    return make_mirt_model(rng.normal(0.4, 0.5, (n, d)), rng.normal(0, 2, n))


def simulate_mirt(
    m: int, n: int, d: int, *, rng: np.random.Generator, missing: float = 0.0, n_trials: int = 1
) -> ResponseMatrix:
    """Draw verdicts of a model with a general ability and d - 1 specific ones."""
    theta = rng.normal(0, 1, (m, d))
    slopes = np.column_stack([rng.lognormal(0, 0.3, n), rng.normal(0, 0.6, (n, d - 1))])
    probability = 1 / (1 + np.exp(rng.normal(0, 2, n) - theta @ slopes.T))
    trials = np.where(rng.random((m, n)) < missing, 0, n_trials)
    return make_matrix(rng.binomial(trials, probability), trials)


def textbook_objective(
    flat: NDArray[np.float64],
    matrix: ResponseMatrix,
    d: int,
    discrimination_sd: float,
    difficulty_sd: float = 3.0,
) -> tuple[float, NDArray[np.float64]]:
    """Negative log posterior of (abilities, slopes, difficulties) and its gradient."""
    m, n = matrix.passes.shape
    theta = flat[: m * d].reshape(m, d)
    slopes = flat[m * d : (m + n) * d].reshape(n, d)
    beta = flat[(m + n) * d :]
    x = theta @ slopes.T - beta
    passes = matrix.passes.astype(float)
    value = np.sum(matrix.trials * np.logaddexp(0, x)) - np.sum(passes * x)
    value += np.sum(theta**2) / 2 + np.sum(slopes**2) / (2 * discrimination_sd**2)
    value += np.sum(beta**2) / (2 * difficulty_sd**2)
    residual = passes - matrix.trials * np.exp(-np.logaddexp(0, -x))
    gradient = np.concatenate(
        [
            (theta - residual @ slopes).ravel(),
            (slopes / discrimination_sd**2 - residual.T @ theta).ravel(),
            beta / difficulty_sd**2 + residual.sum(axis=0),
        ]
    )
    return float(value), gradient


def mirt_by_lbfgs(
    matrix: ResponseMatrix,
    start: NDArray[np.float64],
    d: int,
    discrimination_sd: float,
    *,
    ftol: float = 1e-9,
) -> float:
    """Log posterior that scipy's L-BFGS-B reaches from a flat start."""
    result = optimize.minimize(
        textbook_objective,
        start,
        args=(matrix, d, discrimination_sd),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": ftol, "gtol": 1e-8, "maxiter": 50_000, "maxfun": 100_000},
    )
    return -float(result.fun)
