"""The door of every replayed method: one order of rows and columns, one way to end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.estimators import feasible_range
from recurring_eval.methods.prepared import MethodEstimates
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.validation import order_by_id, require_subset_size

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Raw result of a method for m targets.

    Attributes
    ----------
    score : ndarray, shape (m,)
        Neither clipped nor exact at full budget; NaN where there is none.
    observed : ndarray of bool, shape (m, n)
        Valid verdicts that were used.
    model_sd, low, high : ndarray, shape (m,), or None
    """

    score: Floats
    observed: NDArray[np.bool_]
    model_sd: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None


class Scorer(Protocol):
    """What a method has learnt from the source; sees targets in canonical order."""

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Score every target; columns are sorted by question id, rows by run id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareInOrder:
    """Prepares a method on a source whose order does not matter.

    Attributes
    ----------
    fit : callable
        ``fit(source, rng)`` for a source in canonical order (runs with a
        verdict by time, questions by id) gives a `Scorer`.
    """

    fit: Callable[[ResponseMatrix, np.random.Generator], Scorer]

    def __call__(self, source: ResponseMatrix, *, rng: np.random.Generator) -> "PreparedInOrder":
        """Fit the scorer, on one thread: the same bits whatever the number of cores."""
        ordered = source.in_canonical_order()
        with one_thread():
            scorer = self.fit(ordered, rng)
        return PreparedInOrder(question_ids=ordered.question_ids, scorer=scorer)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedInOrder:
    """A scorer behind the door; satisfies `PreparedMethod`."""

    question_ids: tuple[str, ...]
    scorer: Scorer

    def estimate(
        self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator
    ) -> MethodEstimates:
        """Put targets in order, score them, move the scores into the feasible range."""
        _check_questions(targets, self.question_ids)
        require_subset_size(k, targets.n_questions)
        rows = order_by_id(targets.run_ids)
        by_id = targets.select_runs(rows)
        ordered = by_id.align_questions(self.question_ids)
        with one_thread():
            scored = self.scorer.score(ordered, k, rng=rng)
        back = np.empty(len(rows), dtype=np.intp)
        back[rows] = np.arange(len(rows))
        return _finished(ordered, scored, back, targets.pass_rates())


def _finished(
    targets: ResponseMatrix, scored: Scored, back: NDArray[np.intp], truth: Floats
) -> MethodEstimates:
    """Feasible, exact at full budget, and in the caller's order of rows."""
    valid = targets.trials > 0
    low, high = feasible_range(
        targets.passes, targets.trials, asked=scored.observed, population=valid
    )
    low, high = low[back], high[back]
    answered = np.asarray(valid.any(axis=1))
    complete = (np.asarray((scored.observed | ~valid).all(axis=1)) & answered)[back]

    def inside(values: Floats) -> Floats:
        return np.where(complete, truth, np.clip(values[back], low, high))

    rate = inside(scored.score)
    return MethodEstimates(
        pass_rate=rate,
        n_executed=(scored.observed & valid).sum(axis=1)[back],
        model_sd=None
        if scored.model_sd is None
        else np.where(complete, 0.0, scored.model_sd[back]),
        low=None if scored.low is None else np.minimum(inside(scored.low), rate),
        high=None if scored.high is None else np.maximum(inside(scored.high), rate),
    )


def _check_questions(targets: ResponseMatrix, question_ids: tuple[str, ...]) -> None:
    differing = set(targets.question_ids).symmetric_difference(question_ids)
    if differing:
        raise InputError(
            f"targets and source differ in {len(differing)} questions, first {min(differing)!r}; "
            "give both the same questions"
        )
