"""Likelihood of all observed outcomes at every node.

A group's outcomes are exchangeable, so that its counts are all that matters: they are
multiplied in as passes first, then fails, whatever order they were observed in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr.group_rates import Outcome, log_outcome_likelihood

Floats = NDArray[np.float64]
OddsOf = Callable[[NDArray[np.intp]], Floats]
"""Baseline odds of some groups at every node, shape (groups, J)."""

BLOCK: Final = 1 << 16
"""Elements of a table worked on at a time, so that temporaries stay in the cache."""

FACTORS_PER_LOG: Final = 16
"""Factors, each at least 1e-13, multiplied before a log is taken."""


@dataclass(frozen=True, slots=True)
class _Factors:
    """One factor of the likelihood per whole pass or fail, in order of the groups.

    Attributes
    ----------
    group : ndarray of intp, shape (n,)
    passed : ndarray of bool, shape (n,)
    same, before : ndarray, shape (n,)
        Outcomes of the group multiplied in earlier: alike ones, and all.
    """

    group: NDArray[np.intp]
    passed: NDArray[np.bool_]
    same: Floats
    before: Floats


def log_likelihood(odds_of: OddsOf, passes: Floats, fails: Floats, kappa: float) -> Floats:
    """Log of the Beta-integrated likelihood of equation (8), shape (J,).

    Parameters
    ----------
    odds_of : callable
    passes, fails : ndarray, shape (G,)
        Observed evidence in trials; fractional where correlated trials were discounted.
    kappa : float
        Infinite for rates without uncertainty of their own.
    """
    whole_passes, whole_fails = np.floor(passes), np.floor(fails)
    factors = _whole_factors(whole_passes, whole_fails)
    total = np.zeros(odds_of(np.array([0])).shape[1])
    rows = max(1, BLOCK // len(total))
    for start in range(0, len(factors.group), rows):
        block = slice(start, start + rows)
        odds = odds_of(factors.group[block])
        inverse = 1.0 / odds
        both = odds + inverse + (2.0 + factors.before[block] / kappa)[:, np.newaxis]
        own = np.where(factors.passed[block, np.newaxis], odds, inverse)
        own += (1.0 + factors.same[block] / kappa)[:, np.newaxis]
        own /= both
        products = np.multiply.reduceat(own, np.arange(0, len(own), FACTORS_PER_LOG), axis=0)
        total += np.log(products).sum(axis=0)
    for group in np.flatnonzero((passes > whole_passes) | (fails > whole_fails)):
        before = float(whole_passes[group]), float(whole_fails[group])
        rest = Outcome(int(group), passes[group] - before[0], fails[group] - before[1])
        odds = odds_of(np.array([group]))[0]
        total += log_outcome_likelihood(odds, kappa, *before, rest)
    return np.asarray(total)


def _whole_factors(passes: Floats, fails: Floats) -> _Factors:
    count = (passes + fails).astype(np.intp)
    group = np.repeat(np.arange(len(count)), count)
    before = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    passed = before < passes[group]
    same = np.where(passed, before, before - passes[group])
    return _Factors(group, passed, same.astype(np.float64), before.astype(np.float64))
