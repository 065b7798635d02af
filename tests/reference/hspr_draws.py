"""Complete draws of the score from its posterior, as published (HSPR, section 3.5)."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from recurring_eval.hspr.group_rates import baseline_odds
from recurring_eval.hspr.posterior import NodePosterior

Floats = NDArray[np.float64]

N_DRAWS: Final = 131_072
MAX_DRAWS: Final = 2_097_152
STANDARD_ERRORS: Final = 6.0
LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveDraws:
    """Median of score draws with its numerical precision (HSPR, Appendix E).

    Attributes
    ----------
    median, mean : float
        Of the draws.
    n_draws : int
    median_low, median_high : float
        Central 95 % numerical interval of the median by binomial order statistics.
    standard_errors : float
        Distance of the draws' mean from the analytic mean, in Monte Carlo standard errors.
    precise : bool
        The mean is within six standard errors and the interval spans at most 1/N.
    """

    median: float
    mean: float
    n_draws: int
    median_low: float
    median_high: float
    standard_errors: float
    precise: bool


def draw_scores(
    posterior: NodePosterior,
    unasked: NDArray[np.intp],
    *,
    observed_passes: float,
    n_questions: int,
    n_draws: int = N_DRAWS,
    rng: np.random.Generator,
) -> Floats:
    """Draw a node, each group's rate, then its unasked passes; shape (n_draws,).

    Parameters
    ----------
    posterior : NodePosterior
    unasked : ndarray of int, shape (G,)
    observed_passes : float
    n_questions : int
    n_draws : int
    rng : numpy.random.Generator
        Not the one that chooses questions.
    """
    kappa = posterior.config.kappa
    node = rng.choice(posterior.n_nodes, size=n_draws, p=posterior.weights)
    passes = np.zeros(n_draws, dtype=np.int64)
    for group in np.flatnonzero(unasked):
        odds = baseline_odds(posterior.logits(int(group)))
        if math.isinf(kappa):
            rate = (odds / (1.0 + odds))[node]
        else:
            a = kappa * (1.0 + odds) + posterior.passes[group]
            f = kappa * (1.0 + 1.0 / odds) + posterior.fails[group]
            rate = rng.beta(a[node], f[node])
        passes += rng.binomial(int(unasked[group]), rate)
    return (observed_passes + passes) / n_questions


def draw_median(
    posterior: NodePosterior,
    unasked: NDArray[np.intp],
    *,
    observed_passes: float,
    n_questions: int,
    analytic_mean: float,
    n_draws: int = N_DRAWS,
    max_draws: int = MAX_DRAWS,
    rng: np.random.Generator,
) -> PredictiveDraws:
    """Draw, doubling the number of draws until the median is precise or `max_draws` reached.

    Parameters
    ----------
    analytic_mean : float
        Posterior mean of the score on the same nodes.
    n_draws, max_draws : int
        Equal for a fixed number of draws.
    """
    draws = np.empty(0)
    size = n_draws
    while True:
        more = draw_scores(
            posterior,
            unasked,
            observed_passes=observed_passes,
            n_questions=n_questions,
            n_draws=size - len(draws),
            rng=rng,
        )
        draws = np.sort(np.concatenate([draws, more]))
        summary = _summary(draws, analytic_mean, 1.0 / n_questions)
        if summary.precise or 2 * size > max_draws:
            return summary
        size *= 2


def _summary(draws: Floats, analytic_mean: float, increment: float) -> PredictiveDraws:
    n = len(draws)
    mean = float(draws.mean())
    low, high = (
        float(draws[min(int(stats.binom.ppf(q, n, 0.5)), n - 1)])
        for q in ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
    )
    error = float(draws.std()) / math.sqrt(n)
    distance = abs(mean - analytic_mean)
    standard_errors = distance / error if error > 0 else (0.0 if distance < 1e-6 else math.inf)
    return PredictiveDraws(
        median=float(np.median(draws)),
        mean=mean,
        n_draws=n,
        median_low=low,
        median_high=high,
        standard_errors=standard_errors,
        precise=standard_errors <= STANDARD_ERRORS and high - low <= increment * (1.0 + 1e-9),
    )
