"""Verdicts of one run as sorted columns: checks, summary, checksum, Arrow."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS, RunLog

WORDS: Final = {PASS: "pass", FAIL: "fail", MISSING: "missing"}


def verdict_word(table: str) -> str:
    """Build the SQL for the word of a verdict in `table`; without a row it is missing."""
    return f"CASE {table}.passed WHEN 1 THEN 'pass' WHEN 0 THEN 'fail' ELSE 'missing' END"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRows:
    """Columns in the order of (question, trial); `reason` is empty for a valid verdict.

    Attributes
    ----------
    question_id : ndarray of int32, shape (n,)
        The history's integers.
    trial : ndarray of int16, shape (n,)
    outcome : ndarray of int8, shape (n,)
        PASS, FAIL or MISSING.
    reason : ndarray of object (str), shape (n,)
    duration_s, cost : ndarray of float64, shape (n,)
        NaN where unknown.
    """

    question_id: NDArray[np.int32]
    trial: NDArray[np.int16]
    outcome: NDArray[np.int8]
    reason: NDArray[Any]
    duration_s: NDArray[np.float64]
    cost: NDArray[np.float64]

    @classmethod
    def from_log(cls, log: RunLog, question_row_ids: NDArray[np.int32]) -> Self:
        """Check a log's verdicts and put them in order.

        Raises
        ------
        InputError
            For columns of unequal length, an unknown outcome, a missing verdict
            without a reason, or a question answered twice in one trial.
        """
        _check_columns(log)
        question_id = question_row_ids[log.question_index]
        order = np.lexsort((log.trial, question_id))
        reasons = np.array([*log.reasons, ""], dtype=object)
        rows = cls(
            question_id=question_id[order],
            trial=log.trial[order].astype(np.int16),
            outcome=log.outcome[order].astype(np.int8),
            reason=reasons[log.reason_index[order]],
            duration_s=log.duration_s[order].astype(np.float64),
            cost=log.cost[order].astype(np.float64),
        )
        twice = np.flatnonzero(np.diff(rows.keys()) == 0)
        if twice.size:
            row = order[twice[0] + 1]
            raise InputError(
                f"run {log.run_key} has question {log.question_ids[log.question_index[row]]!r} "
                f"trial {log.trial[row]} twice; keep one verdict or number the trials"
            )
        return rows

    def __len__(self) -> int:
        return len(self.question_id)

    def keys(self) -> NDArray[np.int64]:
        """One sorted integer per (question, trial), shape (n,)."""
        return self.question_id.astype(np.int64) * 2**16 + self.trial

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "VerdictRows":
        """Rows given by a mask, by positions or by a slice."""
        return VerdictRows(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    def merged(self, other: "VerdictRows") -> "VerdictRows":
        """Join these rows and those of `other`, in order; no key may be in both."""
        both = concatenated([self, other])
        return both.take(np.argsort(both.keys(), kind="stable"))

    def checksum(self) -> str:
        """SHA-256 of questions, trials, outcomes and reasons; times and costs left out."""
        reasons = self.reason[self.outcome == MISSING].tolist()
        return verdict_checksum(self.question_id, self.trial, self.outcome, reasons)

    def summary(self) -> tuple[int, int, float]:
        """Count of valid questions and of missing verdicts, and the pass rate.

        The pass rate is the mean over valid questions of passes/trials, NaN if
        there is none, and does not depend on the order of the questions.
        """
        valid = self.outcome != MISSING
        questions = self.question_id[valid]
        starts = np.flatnonzero(np.diff(questions, prepend=-1))
        n_missing = len(self) - len(questions)
        if not starts.size:
            return 0, n_missing, math.nan
        passes = np.add.reduceat(self.outcome[valid].astype(np.int64), starts)
        trials = np.diff(starts, append=len(questions))
        return len(starts), n_missing, math.fsum(passes / trials) / len(starts)


def verdict_checksum(
    question_id: NDArray[np.int32],
    trial: NDArray[np.int16],
    outcome: NDArray[np.int8],
    missing_reasons: list[str],
) -> str:
    """SHA-256 of sorted verdicts, each of shape (n,), and of the reasons of the missing ones."""
    digest = hashlib.sha256(json.dumps(missing_reasons).encode())
    digest.update(question_id.astype("<i4").tobytes())
    digest.update(trial.astype("<i2").tobytes())
    digest.update(outcome.astype("<i1").tobytes())
    return digest.hexdigest()


def concatenated(parts: Sequence[VerdictRows]) -> VerdictRows:
    """Rows of several runs one after the other; `parts` is not empty."""
    return VerdictRows(
        **{
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(VerdictRows)
        }
    )


def to_arrow(run_ids: Sequence[int], parts: Sequence[VerdictRows]) -> pa.Table:
    """Table of the runs' verdicts for the history; missing outcomes become NULL."""
    rows = concatenated(parts)
    missing = rows.outcome == MISSING
    return pa.table(
        {
            "run_id": np.repeat(np.array(run_ids, np.int32), [len(part) for part in parts]),
            "question_id": rows.question_id,
            "trial": rows.trial,
            "passed": pa.array(rows.outcome, pa.int8(), mask=missing),
            "reason": pa.array(rows.reason, pa.string(), mask=~missing),
            "duration_s": pa.array(rows.duration_s, mask=np.isnan(rows.duration_s)),
            "cost": pa.array(rows.cost, mask=np.isnan(rows.cost)),
        }
    )


def from_arrow(table: pa.Table) -> VerdictRows:
    """Opposite of `to_arrow` for rows sorted by (question, trial)."""
    return VerdictRows(
        question_id=table["question_id"].to_numpy(),
        trial=table["trial"].to_numpy(),
        outcome=table["passed"].fill_null(MISSING).to_numpy(),
        reason=_texts(table["reason"]),
        duration_s=table["duration_s"].fill_null(np.nan).to_numpy(),
        cost=table["cost"].fill_null(np.nan).to_numpy(),
    )


def _texts(column: pa.ChunkedArray) -> NDArray[Any]:
    """Text of each row, empty for null; shape (n,)."""
    coded = column.fill_null("").combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    words = np.array([*coded.dictionary.to_pylist(), ""], dtype=object)
    texts: NDArray[Any] = words[coded.indices.to_numpy()]
    return texts


def _check_columns(log: RunLog) -> None:
    columns = ("trial", "outcome", "reason_index", "duration_s", "cost")
    for name in columns:
        if len(getattr(log, name)) != len(log.question_index):
            raise InputError(f"run {log.run_key}: `{name}` needs one entry per verdict")
    if not len(log.question_index):
        raise InputError(f"run {log.run_key} has no verdicts")
    bounds = (("question_index", 0, len(log.question_ids)), ("reason_index", -1, len(log.reasons)))
    for name, low, high in bounds:
        values = getattr(log, name)
        if values.min() < low or values.max() >= high:
            raise InputError(f"run {log.run_key}: `{name}` points outside its list")
    if log.trial.min() < 1:
        raise InputError(f"run {log.run_key} has trial {log.trial.min()}; trials count from 1")
    if log.outcome.min() < MISSING or log.outcome.max() > PASS:
        raise InputError(f"run {log.run_key} has an outcome that is not pass, fail or missing")
    if ((log.outcome == MISSING) != (log.reason_index >= 0)).any():
        raise InputError(
            f"run {log.run_key}: a missing verdict needs a reason, a valid one has none"
        )
