r"""Beta group rates given the latent state, in terms of the baseline odds.

With odds :math:`e = p/(1-p)`, concentration :math:`c = \kappa/(p(1-p))` (equation 6)
gives :math:`cp = \kappa(1 + e)` and :math:`c(1-p) = \kappa(1 + 1/e)`. Divided by
:math:`\kappa`, nothing cancels when concentrations are large, and an infinite
:math:`\kappa` is the model without group uncertainty.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Rates = NDArray[np.floating[Any]]
"""Single or double precision."""

MAX_LOGIT: Final = 27.631021115927547
"""Logit of 1 - 1e-12: baseline probabilities are clipped to [1e-12, 1 - 1e-12]."""

NEARLY_EQUAL_TERMS: Final = 1e5
"""Ratio of a rising factorial's start to its terms beyond which these are nearly equal."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Evidence of one answered question: its group, and passes and fails in trials.

    One trial gives (1, 0) or (0, 1). The trials of a repeated question are worth
    ``n / (1 + (n - 1) rho)`` of them, so both may be fractional.
    """

    group: int
    passes: float
    fails: float

    @classmethod
    def of_trials(cls, group: int, passes: int, trials: int, correlation: float) -> "Outcome":
        """Discount `trials` of one question for their correlation rho."""
        weight = 1.0 / (1.0 + (trials - 1) * correlation)
        return cls(group, passes * weight, (trials - passes) * weight)


def baseline_odds(logits: Floats) -> Floats:
    """Odds of the clipped baseline probabilities."""
    return np.asarray(np.exp(np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))


def beta_parameters(
    odds: Floats, kappa: float, passes: float, fails: float
) -> tuple[Floats, Floats]:
    """Beta parameters of the group rate given its counts, A and F, each divided by kappa."""
    return 1.0 + odds + passes / kappa, 1.0 + 1.0 / odds + fails / kappa


def rate_moments(odds: Floats, kappa: float, passes: float, fails: float) -> tuple[Floats, Floats]:
    """Mean and variance of the group rate given the latent state and the group's counts.

    Returns
    -------
    tuple of ndarray
        m and tau^2 of HSPR's Appendix B, shaped like `odds`.
    """
    a, f = beta_parameters(odds, kappa, passes, fails)
    total = a + f
    mean = a / total
    return mean, mean * (f / total) / (kappa * total + 1.0)


def outcome_likelihood(
    odds: Floats, kappa: float, passes: float, fails: float, outcome: Outcome
) -> Floats:
    """Probability of `outcome` given the latent state and the group's earlier counts.

    Ratio of Beta functions of equation (8). One trial takes sums of positive terms:
    relative rounding error only, at any concentration. More evidence is scaled so that
    the largest value is 1; a common factor changes no posterior.
    """
    a, f = beta_parameters(odds, kappa, passes, fails)
    if (outcome.passes, outcome.fails) == (1.0, 0.0):
        return a / (a + f)
    if (outcome.passes, outcome.fails) == (0.0, 1.0):
        return f / (a + f)
    log = log_outcome_likelihood(odds, kappa, passes, fails, outcome)
    return np.asarray(np.exp(log - log.max()))


def log_outcome_likelihood(
    odds: Floats, kappa: float, passes: float, fails: float, outcome: Outcome
) -> Floats:
    """Log probability of evidence of any size, fractional or not; see `outcome_likelihood`."""
    a, f = beta_parameters(odds, kappa, passes, fails)
    if math.isinf(kappa):
        return np.asarray(
            outcome.passes * np.log(a / (a + f)) + outcome.fails * np.log(f / (a + f))
        )
    return np.asarray(
        _log_rising(kappa * a, outcome.passes)
        + _log_rising(kappa * f, outcome.fails)
        - _log_rising(kappa * (a + f), outcome.passes + outcome.fails)
    )


def _log_rising(start: Floats, count: float) -> Floats:
    """Log of the rising factorial of `count` terms, which may be fractional.

    A difference of log Gamma functions, which cancels where `start` is much larger: there
    the terms are as good as equal to their middle one.
    """
    far = start > NEARLY_EQUAL_TERMS * max(1.0, count)
    middle = count * np.log(start + (count - 1.0) / 2.0, where=far, out=np.zeros_like(start))
    near = np.where(far, 1.0, start)
    return np.where(far, middle, special.gammaln(near + count) - special.gammaln(near))


def rate_table(
    logits: Rates, kappa: float, *, passes: Rates, fails: Rates
) -> tuple[Rates, Rates, Rates]:
    """Group rates of many groups and nodes, in the precision of `logits`.

    Parameters
    ----------
    logits : ndarray, shape (G, J)
        Baseline logits; overwritten.
    kappa : float
    passes, fails : ndarray, shape (G, 1)

    Returns
    -------
    tuple of ndarray, shape (G, J)
        Mean rate m, ``(A + F) / kappa`` and ``m (1 - m)``.
    """
    odds = np.clip(logits, -MAX_LOGIT, MAX_LOGIT, out=logits)
    np.exp(odds, out=odds)
    total = np.reciprocal(odds)
    total += 1.0 + fails / kappa
    odds += 1.0 + passes / kappa
    both = total.copy()
    total += odds
    odds /= total
    both /= total
    both *= odds
    return odds, total, both
