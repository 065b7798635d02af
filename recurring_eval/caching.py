"""Historical caching: questions settled in a recent window need not be run again."""

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates

CacheUse = Literal["majority", "rate"]

EPSILON: Final = 0.05
WINDOW_DAYS: Final = 7
MIN_TRIALS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Verdicts of a window and the questions they settle.

    Attributes
    ----------
    question_ids : tuple of str
        n questions.
    passes, n_trials : ndarray of int64, shape (n,)
    cached : ndarray of bool, shape (n,)
        Questions settled: enough trials, and nearly all of one kind.
    epsilon : float
    min_trials : int
    """

    question_ids: tuple[str, ...]
    passes: NDArray[np.int64]
    n_trials: NDArray[np.int64]
    cached: NDArray[np.bool_]
    epsilon: float
    min_trials: int

    def __post_init__(self) -> None:
        for name, dtype in (("passes", np.int64), ("n_trials", np.int64), ("cached", np.bool_)):
            array = np.array(getattr(self, name), dtype=dtype)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        shape = (len(self.question_ids),)
        if any(array.shape != shape for array in (self.passes, self.n_trials, self.cached)):
            raise InputError(f"a cache needs one entry for each of its {shape[0]} questions")

    def values(self, use: CacheUse) -> NDArray[np.float64]:
        """Score each cached question is given, shape (n,); 0 where not cached.

        `majority` gives the window's majority verdict, a pass on a tie, as
        published; `rate` the window's pass rate, which has no rounding bias.
        """
        if use == "majority":
            return np.where(self.cached & (2 * self.passes >= self.n_trials), 1.0, 0.0)
        return np.where(self.cached, outcome_rates(self.passes, self.n_trials), 0.0)


def window_rows(matrix: ResponseMatrix, day: date) -> NDArray[np.intp]:
    """Rows of the runs started on the seven UTC days before `day`, itself left out.

    Only strictly earlier days count, so that no run helps to settle itself.
    """
    first = day - timedelta(days=WINDOW_DAYS)
    days = [start.astimezone(UTC).date() for start in matrix.started_at]
    return np.array([i for i, run_day in enumerate(days) if first <= run_day < day], dtype=np.intp)


def build_cache(
    window: ResponseMatrix, *, epsilon: float = EPSILON, min_trials: int = MIN_TRIALS
) -> Cache:
    """Find the questions that a window settles.

    A question with s passes in n trials is cached when ``n >= min_trials`` and
    ``min(s, n - s) <= epsilon n``, compared as integers.

    Parameters
    ----------
    window : ResponseMatrix
        Executed verdicts of the window's routine runs (see `window_rows`).
    epsilon : float, optional
        Largest share of minority verdicts, in [0, .5]; read as the decimal it
        is written as.
    min_trials : int, optional

    References
    ----------
    She and Lin 2026, section 3 (historical caching).
    """
    passes = window.passes.sum(axis=0, dtype=np.int64)
    trials = window.trials.sum(axis=0, dtype=np.int64)
    limit = Fraction(repr(float(epsilon)))
    # Object integers: a denominator of 10**17 times a trial count passes 2**63.
    minority = np.minimum(passes, trials - passes).astype(object) * limit.denominator
    settled = minority <= trials.astype(object) * limit.numerator
    return Cache(
        question_ids=window.question_ids,
        passes=passes,
        n_trials=trials,
        cached=settled.astype(np.bool_) & (trials >= min_trials),
        epsilon=epsilon,
        min_trials=min_trials,
    )


def cache_score(
    cache: Cache,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    use: CacheUse = "majority",
    population: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Mean of the cached values and the executed outcomes of the other questions.

    Parameters
    ----------
    cache : Cache
    passes, trials : ndarray of int, shape (..., n)
        Verdict counts, aligned with the cache's questions. Verdicts on cached
        questions are ignored: in production they are not executed.
    use : {"majority", "rate"}, optional
    population : ndarray of bool, shape (n,) or (..., n), optional
        Questions the score is the mean of; by default all.

    Returns
    -------
    ndarray, shape (...)
        A question that is neither cached nor answered is left out of the
        mean; NaN when nothing is left.
    """
    counted = (trials > 0) | cache.cached
    if population is not None:
        counted = counted & population
    values = np.where(cache.cached, cache.values(use), outcome_rates(passes, trials))
    total = np.where(counted, values, 0.0).sum(axis=-1)
    return outcome_rates(total, counted.sum(axis=-1), missing=np.nan)
