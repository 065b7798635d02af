"""A run log restricts, joins and counts itself."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS, RunLog

START = datetime(2026, 11, 29, 9, tzinfo=UTC)

Row = tuple[str, int, int, str]


def log_of(rows: list[Row], **facts: object) -> RunLog:
    """Log of (question, trial, outcome, reason) rows."""
    questions = list(dict.fromkeys(row[0] for row in rows))
    reasons = list(dict.fromkeys(row[3] for row in rows if row[3]))
    log = RunLog(
        run_key="r",
        benchmark="b",
        agent="a",
        started_at=START,
        harness="table",
        question_ids=tuple(questions),
        content_hashes=tuple(f"hash of {question}" for question in questions),
        question_index=np.array([questions.index(row[0]) for row in rows], np.int32),
        trial=np.array([row[1] for row in rows], np.int16),
        outcome=np.array([row[2] for row in rows], np.int8),
        reasons=tuple(reasons),
        reason_index=np.array([reasons.index(r[3]) if r[3] else -1 for r in rows], np.int16),
        duration_s=np.arange(len(rows), dtype=np.float64),
        cost=np.full(len(rows), np.nan),
    )
    return replace(log, **facts)


def rows_of(log: RunLog) -> list[Row]:
    reasons = (*log.reasons, "")
    return [
        (log.question_ids[q], int(trial), int(outcome), reasons[reason])
        for q, trial, outcome, reason in zip(
            log.question_index, log.trial, log.outcome, log.reason_index, strict=True
        )
    ]


FIRST: list[Row] = [
    ("q2", 1, PASS, ""),
    ("q1", 1, MISSING, "timeout: 60 s"),
    ("q2", 2, FAIL, ""),
    ("q1", 2, MISSING, "error"),
]
SECOND: list[Row] = [
    ("q0", 1, MISSING, "error"),
    ("q3", 1, PASS, ""),
    ("q0", 2, MISSING, "skipped"),
]


def test_within_keeps_the_verdicts_on_the_given_questions() -> None:
    log = log_of(FIRST).within({"q1", "other"})
    assert rows_of(log) == [FIRST[1], FIRST[3]]
    assert log.duration_s.tolist() == [1.0, 3.0]
    assert log_of(FIRST).within(()).outcome.size == 0


def test_joined_has_the_rows_of_both_parts_and_the_span_of_both() -> None:
    later = START + timedelta(hours=2)
    first = log_of(FIRST, started_at=START + timedelta(hours=1), finished_at=None)
    log = first.joined(log_of(SECOND, finished_at=later, agent="other"))
    assert rows_of(log) == FIRST + SECOND
    assert log.reasons == ("timeout: 60 s", "error", "skipped")
    assert log.content_hashes == tuple(f"hash of {q}" for q in ("q2", "q1", "q0", "q3"))
    assert (log.started_at, log.finished_at, log.agent) == (START, later, "a")
    assert (log.question_index.dtype, log.reason_index.dtype) == (np.int32, np.int16)


def test_parts_of_different_subsets_are_not_joined() -> None:
    with pytest.raises(InputError, match="several subsets"):
        log_of(FIRST, subset_id="s-k2-0123abcd").joined(log_of(SECOND))


@pytest.mark.parametrize(
    ("failing", "trials"),
    [((), [0, 0, 2, 0]), (("timeout",), [1, 0, 2, 0]), (("error",), [1, 0, 2, 0])],
)
def test_counts_are_in_the_order_of_the_given_questions(
    failing: tuple[str, ...], trials: list[int]
) -> None:
    passes, counted = log_of(FIRST).counts(("q1", "x", "q2", "y"), failing=failing)
    assert passes.tolist() == [0, 0, 1, 0]
    assert counted.tolist() == trials
