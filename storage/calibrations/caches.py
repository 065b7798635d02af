"""Caches of settled questions, as they stood on a day."""

from datetime import date as calendar_date
from datetime import datetime

import numpy as np

from recurring_eval.caching import Cache
from storage.file.history import History
from storage.runs.benchmarks import bank_question_ids, benchmark_row_id
from storage.values import columns, to_utc


def save_cache(
    history: History,
    cache: Cache,
    *,
    benchmark: str,
    bank_version: str,
    family: str,
    date: calendar_date,
    created_at: datetime,
) -> int:
    """Store the cache for a day and return its id; of several the last one counts."""
    _, questions = bank_question_ids(history, benchmark, bank_version, cache.question_ids)
    cache_id = history.next_id("cache")
    history.insert_row(
        "cache",
        cache_id=cache_id,
        benchmark_id=benchmark_row_id(history, benchmark),
        agent_family=family,
        cache_date=date,
        epsilon=cache.epsilon,
        min_trials=cache.min_trials,
        created_at=to_utc(created_at, "`created_at`"),
    )
    history.insert(
        "cache_entry",
        columns(
            {
                "cache_id": cache_id,
                "question_id": questions,
                "position": range(len(questions)),
                "n_passes": cache.passes,
                "n_trials": cache.n_trials,
                "cached": cache.cached,
            }
        ),
    )
    return cache_id


def load_cache(
    history: History, benchmark: str, family: str, date: calendar_date | None = None
) -> Cache | None:
    """Cache for exactly that day, or the latest there is; None if there is none."""
    found = history.rows(
        "SELECT cache_id, epsilon, min_trials FROM cache"
        " WHERE benchmark_id = ? AND agent_family = ? AND (?::DATE IS NULL OR cache_date = ?)"
        " ORDER BY cache_date DESC, cache_id DESC LIMIT 1",
        [benchmark_row_id(history, benchmark), family, date, date],
    )
    if not found:
        return None
    cache_id, epsilon, min_trials = found[0]
    rows = history.rows(
        "SELECT q.question_key, e.n_passes, e.n_trials, e.cached FROM cache_entry AS e"
        " JOIN question AS q USING (question_id) WHERE e.cache_id = ? ORDER BY e.position",
        [cache_id],
    )
    passes = np.array([row[1] for row in rows], dtype=np.int64)
    trials = np.array([row[2] for row in rows], dtype=np.int64)
    return Cache(
        question_ids=tuple(row[0] for row in rows),
        passes=passes,
        n_trials=trials,
        cached=np.array([row[3] for row in rows], dtype=np.bool_),
        epsilon=epsilon,
        min_trials=min_trials,
    )
