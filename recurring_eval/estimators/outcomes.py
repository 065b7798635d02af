"""What a run answered, seen from an estimator."""

import numpy as np
from numpy.typing import NDArray


def outcome_rates(passes: NDArray[np.integer], trials: NDArray[np.integer]) -> NDArray[np.float64]:
    """passes/trials per question, 0 where there is no valid trial; shape of the inputs."""
    rates = np.zeros(np.shape(trials))
    np.divide(passes, trials, out=rates, where=trials > 0)
    return rates


def observed_mask(
    trials: NDArray[np.integer],
    asked: NDArray[np.bool_] | None,
    population: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Observed questions and the population, both in the shape of `trials`.

    Observed means asked, with a valid verdict, and part of the population.
    """
    population = np.broadcast_to(True if population is None else population, trials.shape)
    observed = (trials > 0) & population
    return (observed if asked is None else observed & asked), population
