"""Rasch models with given difficulties, for tests that need no fit."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.subsets import difficulty_order, stratum_bounds


def make_model(
    difficulty: ArrayLike,
    *,
    question_ids: tuple[str, ...] | None = None,
    ability: ArrayLike = (-1.0, 1.0),
    prior_mean: float = 0.0,
    prior_precision: float = 0.05,
) -> RaschModel:
    """Model with the given difficulties; questions q0000.. unless named."""
    beta = np.asarray(difficulty, dtype=np.float64)
    theta = np.asarray(ability, dtype=np.float64)
    return RaschModel(
        question_ids=question_ids or tuple(f"q{j:04d}" for j in range(len(beta))),
        difficulty=beta,
        run_ids=tuple(f"r{i:04d}" for i in range(len(theta))),
        ability=theta,
        n_responses=np.full(len(beta), 10),
        prior_mean=prior_mean,
        prior_precision=prior_precision,
        log_posterior=-1.0,
        log_likelihood=-1.0,
        converged=True,
        n_iterations=1,
    )


def strata(model: RaschModel, k: int) -> list[NDArray[np.intp]]:
    """Positions of the model's questions in each of k strata, easiest stratum first."""
    order = difficulty_order(model)
    first, _ = stratum_bounds(len(order), k)
    return np.split(order, first[1:])
