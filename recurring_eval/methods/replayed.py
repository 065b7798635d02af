"""Methods as replays compare them: prepared on source runs, tried on target runs.

Every method enters by one door: one order of rows and columns going in, scores inside the
feasible range and in the caller's order coming out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.estimators import feasible_range
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.validation import order_by_id, read_only_floats, require_subset_size

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodEstimates:
    """What a method says about m target runs after asking at most k questions of each.

    Attributes
    ----------
    pass_rate : ndarray, shape (m,)
        Estimated score over each run's valid questions, a fraction inside the
        feasible range; the observed rate where all of them were asked. NaN
        where the method cannot estimate, as none of its questions was answered.
    n_executed : ndarray of int64, shape (m,)
        Questions of each run whose valid verdict was used.
    low, high : ndarray, shape (m,), or None
        The method's own interval of nominal level `LEVEL` (90 %),
        inside the feasible range.
    k : int
    cpu_s : float
        CPU seconds for all targets, where they were measured.
    """

    pass_rate: NDArray[np.float64]
    n_executed: NDArray[np.int64]
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    k: int = 0
    cpu_s: float = 0.0

    def __post_init__(self) -> None:
        executed = np.array(self.n_executed, dtype=np.int64)
        executed.setflags(write=False)
        object.__setattr__(self, "n_executed", executed)
        for name in ("pass_rate", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, read_only_floats(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Raw result of a method for m targets.

    Attributes
    ----------
    score : ndarray, shape (m,)
        Neither clipped nor exact at full budget; NaN where there is none.
    observed : ndarray of bool, shape (m, n)
        Valid verdicts that were used.
    low, high : ndarray, shape (m,), or None
    """

    score: Floats
    observed: NDArray[np.bool_]
    low: Floats | None = None
    high: Floats | None = None


Score = Callable[[ResponseMatrix, int, np.random.Generator], Scored]
"""Asks k questions of targets in canonical order: columns by question id, rows by run id."""

Fit = Callable[[ResponseMatrix, np.random.Generator], Score]
"""Learns to score from source runs in canonical order (by time, questions by id)."""


def prepare(fit: Fit, source: ResponseMatrix, rng: np.random.Generator) -> "PreparedMethod":
    """Fit on one thread: the same bits whatever the number of cores.

    Raises
    ------
    NotEnoughDataError
        The source is too small for the method.
    """
    ordered = source.in_canonical_order()
    with one_thread():
        score = fit(ordered, rng)
    return PreparedMethod(question_ids=ordered.question_ids, score=score)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMethod:
    """A method that has learnt what it needs from the source runs."""

    question_ids: tuple[str, ...]
    score: Score

    def estimate(
        self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator
    ) -> MethodEstimates:
        """Estimate each target from its own verdicts on k questions.

        Parameters
        ----------
        targets : ResponseMatrix
            Full runs with the questions of the source, rows in any order. Fixed
            designs ask k questions and do without the missing ones; adaptive
            designs replace these and count valid answers.
        k : int
            ``1 <= k <= N``.
        rng : numpy.random.Generator
            Draws what the method leaves to chance.

        Raises
        ------
        InputError
            The questions differ from the source's or k is not possible.
        """
        _check_questions(targets, self.question_ids)
        require_subset_size(k, targets.n_questions)
        rows = order_by_id(targets.run_ids)
        by_id = targets.select_runs(rows)
        ordered = by_id.align_questions(self.question_ids)
        with one_thread():
            scored = self.score(ordered, k, rng)
        back = np.empty(len(rows), dtype=np.intp)
        back[rows] = np.arange(len(rows))
        return _finished(ordered, scored, back, targets.pass_rates(), k)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayMethod:
    """A published method that only replays offer, for comparison.

    Attributes
    ----------
    name : str
    description : str
        One sentence for lists of methods.
    source : str
        Where it was published.
    fit : callable
        Learns from source runs in canonical order.
    aliases : tuple of str
        Other names.
    budget_is_outcome : bool
        Whether the method itself decides how many questions it asks; k then
        has no effect.
    """

    name: str
    description: str
    source: str
    fit: Fit
    aliases: tuple[str, ...] = ()
    budget_is_outcome: bool = False
    draws_as: ClassVar[str] = ""

    def prepare(self, source: ResponseMatrix, *, rng: np.random.Generator) -> PreparedMethod:
        """Learn from source runs alone."""
        return prepare(self.fit, source, rng)


def _finished(
    targets: ResponseMatrix, scored: Scored, back: NDArray[np.intp], truth: Floats, k: int
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
        low=None if scored.low is None else np.minimum(inside(scored.low), rate),
        high=None if scored.high is None else np.maximum(inside(scored.high), rate),
        k=k,
    )


def _check_questions(targets: ResponseMatrix, question_ids: tuple[str, ...]) -> None:
    differing = set(targets.question_ids).symmetric_difference(question_ids)
    if differing:
        raise InputError(
            f"targets and source differ in {len(differing)} questions, first {min(differing)!r}; "
            "give both the same questions"
        )
