"""Small banks and logs for the tests of the history."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from recurring_eval.records import MISSING, Bank, RunLog
from storage.file.schema import shipped_migrations

BENCHMARK = "swebench-verified"
NOW = datetime(2026, 3, 1, 2, 0, 0, 123456, tzinfo=UTC)
START = datetime(2026, 2, 1, 6, 30, tzinfo=UTC)
EMPTY = sum(migration.version >= 2 for migration in shipped_migrations())
"""Commits of a history without runs: the schema counts them from version 2 on."""
QUESTIONS = tuple(f"q{index:02d}" for index in range(10))


def bank(keys: Sequence[str] = QUESTIONS, hashes: Mapping[str, str] | None = None) -> Bank:
    """Bank of the questions, contents unknown unless given."""
    ordered = tuple(sorted(keys))
    return Bank(
        benchmark=BENCHMARK,
        question_ids=ordered,
        content_hashes=tuple((hashes or {}).get(key, "") for key in ordered),
    )


def log(
    run_key: str,
    verdicts: Sequence[tuple[str, int, int | str]] | Mapping[str, int | str],
    **facts: Any,
) -> RunLog:
    """Log of (question, trial, outcome) rows; a text outcome is a reason for a missing verdict."""
    if isinstance(verdicts, Mapping):
        verdicts = [(key, 1, outcome) for key, outcome in verdicts.items()]
    keys = tuple(dict.fromkeys(key for key, _, _ in verdicts))
    reasons = tuple(dict.fromkeys(o for _, _, o in verdicts if isinstance(o, str)))
    settings: dict[str, Any] = {
        "benchmark": BENCHMARK,
        "agent": "coder",
        "started_at": START,
        "harness": "longform",
        "content_hashes": ("",) * len(keys),
        "duration_s": np.full(len(verdicts), np.nan),
        "cost": np.full(len(verdicts), np.nan),
    }
    return RunLog(
        run_key=run_key,
        question_ids=keys,
        question_index=np.array([keys.index(key) for key, _, _ in verdicts], dtype=np.int32),
        trial=np.array([trial for _, trial, _ in verdicts], dtype=np.int16),
        outcome=np.array(
            [MISSING if isinstance(o, str) else o for _, _, o in verdicts], dtype=np.int8
        ),
        reasons=reasons,
        reason_index=np.array(
            [reasons.index(o) if isinstance(o, str) else -1 for _, _, o in verdicts],
            dtype=np.int16,
        ),
        **(settings | facts),
    )


def days(count: float) -> timedelta:
    """That many days."""
    return timedelta(days=count)
