"""Verdict counts of many runs, keyed by run and question id."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.errors import InputError
from recurring_eval.validation import first_duplicate, order_by_id, read_only_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseMatrix:
    """Passes and trials per run and question.

    A cell with no valid trial is missing: ``trials == 0``. It is never NaN and
    never a fail.

    Attributes
    ----------
    passes, trials : ndarray of int16, shape (n_runs, n_questions)
        ``0 <= passes <= trials``.
    run_ids, question_ids : tuple of str
        Distinct keys of rows and columns.
    started_at : tuple of datetime
        Aware start time of each run.
    agents : tuple of str
        Agent of each run.
    """

    passes: NDArray[np.int16]
    trials: NDArray[np.int16]
    run_ids: tuple[str, ...]
    question_ids: tuple[str, ...]
    started_at: tuple[datetime, ...]
    agents: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "passes", read_only_counts(self.passes))
        object.__setattr__(self, "trials", read_only_counts(self.trials))
        shape = (len(self.run_ids), len(self.question_ids))
        for name in ("passes", "trials"):
            if getattr(self, name).shape != shape:
                raise InputError(f"`{name}` has shape {getattr(self, name).shape}, not {shape}")
        if len(self.started_at) != shape[0] or len(self.agents) != shape[0]:
            raise InputError("`started_at` and `agents` need one entry per run")
        for name in ("run_ids", "question_ids"):
            duplicate = first_duplicate(getattr(self, name))
            if duplicate is not None:
                raise InputError(f"`{name}` has {duplicate!r} twice")
        if (self.passes < 0).any() or (self.passes > self.trials).any():
            raise InputError("`passes` must lie between 0 and `trials` in every cell")

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.run_ids)

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.question_ids)

    def pass_rates(self) -> NDArray[np.float64]:
        """Score of each run: mean over its valid questions of passes/trials.

        Returns
        -------
        ndarray, shape (n_runs,)
            NaN for a run without a valid verdict.
        """
        return _mean_rate(self.passes, self.trials, axis=1)

    def question_pass_rates(self) -> NDArray[np.float64]:
        """Mean over runs of passes/trials, shape (n_questions,); NaN if never answered."""
        return _mean_rate(self.passes, self.trials, axis=0)

    def question_totals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sum up passes and trials by question, each of shape (n_questions,)."""
        return self.passes.sum(axis=0, dtype=np.int64), self.trials.sum(axis=0, dtype=np.int64)

    def valid_fractions(self) -> NDArray[np.float64]:
        """Share of questions with a valid verdict, shape (n_runs,)."""
        return np.asarray((self.trials > 0).mean(axis=1), dtype=np.float64)

    def select_runs(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "ResponseMatrix":
        """Rows given by an index array, mask or slice, in that order."""
        chosen = np.arange(self.n_runs)[rows]
        return ResponseMatrix(
            passes=self.passes[chosen],
            trials=self.trials[chosen],
            run_ids=tuple(self.run_ids[i] for i in chosen),
            question_ids=self.question_ids,
            started_at=tuple(self.started_at[i] for i in chosen),
            agents=tuple(self.agents[i] for i in chosen),
        )

    def canonical_order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows by start time and id, columns by id, so that sums do not depend on their order.

        Returns
        -------
        rows : ndarray of intp, shape (n_runs,)
        columns : ndarray of intp, shape (n_questions,)
        """
        by_time = sorted(range(self.n_runs), key=lambda i: (self.started_at[i], self.run_ids[i]))
        return np.array(by_time, dtype=np.intp), order_by_id(self.question_ids)

    def in_canonical_order(self) -> "ResponseMatrix":
        """Sort runs with a verdict by (start, id) and questions by id."""
        rows, columns = self.canonical_order()
        answered = rows[(self.trials[rows] > 0).any(axis=1)]
        by_time = self.select_runs(answered)
        return by_time.align_questions([self.question_ids[j] for j in columns])

    def align_questions(self, question_ids: Sequence[str]) -> "ResponseMatrix":
        """Columns for `question_ids` in that order; unknown ids become missing columns."""
        position = {question: j for j, question in enumerate(self.question_ids)}
        source = np.array([position.get(question, -1) for question in question_ids], dtype=np.intp)
        known = source >= 0
        passes = np.zeros((self.n_runs, len(source)), dtype=np.int16)
        trials = np.zeros_like(passes)
        passes[:, known] = self.passes[:, source[known]]
        trials[:, known] = self.trials[:, source[known]]
        return ResponseMatrix(
            passes=passes,
            trials=trials,
            run_ids=self.run_ids,
            question_ids=tuple(question_ids),
            started_at=self.started_at,
            agents=self.agents,
        )


def _mean_rate(
    passes: NDArray[np.int16], trials: NDArray[np.int16], *, axis: int
) -> NDArray[np.float64]:
    total = outcome_rates(passes, trials).sum(axis=axis)
    return outcome_rates(total, (trials > 0).sum(axis=axis), missing=np.nan)


def outcome_rates(
    passes: ArrayLike, trials: ArrayLike, *, missing: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """passes/trials of each cell, `missing` where there is no valid trial.

    Parameters
    ----------
    passes, trials : array_like
        Of the same shape; also a sum of rates and the number of its terms.
    missing : array_like
        Broadcasts with them: a constant, or a prediction of each cell.

    Returns
    -------
    ndarray
        Of their shape.
    """
    counts = np.asarray(trials)
    rates = np.array(np.broadcast_to(missing, counts.shape), dtype=np.float64)
    np.divide(passes, counts, out=rates, where=counts > 0)
    return rates
