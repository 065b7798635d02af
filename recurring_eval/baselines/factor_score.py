"""p-IRT with logistic factors, for whatever questions were asked."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.logistic_factors import LogisticFactors
from recurring_eval.irt import sigmoid
from recurring_eval.posterior import posterior_information, posterior_modes

Floats = NDArray[np.float64]

RANK: Final = 4
ABILITY_PRECISION: Final = 0.25
FACTOR_PRECISION: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorScores:
    """Estimated scores of m runs and the model's standard deviations, each (m,)."""

    score: Floats
    model_sd: Floats


def factor_scores(
    factors: LogisticFactors,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_],
    population: NDArray[np.bool_],
) -> FactorScores:
    """Mean of observed outcomes and of predictions at the posterior mode.

    Coordinates have the prior N(0, 1/.25) for the ability and N(0, 1/4) for
    each residual factor.

    Parameters
    ----------
    factors : LogisticFactors
        n questions.
    passes, trials : ndarray of int, shape (m, n)
    asked : ndarray of bool, shape (n,) or (m, n)
    population : ndarray of bool, shape (m, n)
    """
    precision = np.full(factors.loadings.shape[1], FACTOR_PRECISION)
    precision[0] = ABILITY_PRECISION
    # In units of the prior's standard deviations every precision is one.
    slopes = factors.loadings / np.sqrt(precision)
    seen = (trials > 0) & asked
    used = np.where(seen, trials, 0).astype(np.float64)
    passed = np.where(seen, passes, 0).astype(np.float64)
    z = posterior_modes(
        slopes,
        -factors.intercept,
        passed,
        used,
        prior_mean=np.zeros(slopes.shape[1]),
        prior_precision=1.0,
    )
    information = posterior_information(z, slopes, -factors.intercept, used, 1.0)
    predicted = sigmoid(np.matmul(slopes, z[..., np.newaxis])[..., 0] + factors.intercept)
    outcomes = np.divide(passed, used, out=predicted.copy(), where=used > 0)
    size = np.maximum(population.sum(axis=1), 1)
    score = np.where(population, outcomes, 0.0).sum(axis=1) / size
    weight = np.where(population & ~seen, predicted * (1.0 - predicted), 0.0)
    gradient = np.matmul(weight[:, np.newaxis], slopes)[:, 0]
    carried = np.linalg.solve(information, gradient[..., np.newaxis])[..., 0]
    variance = weight.sum(axis=1) + (carried * gradient).sum(axis=1)
    empty = ~population.any(axis=1)
    return FactorScores(score=np.where(empty, np.nan, score), model_sd=np.sqrt(variance) / size)
