"""Historical caching: run what recent runs disagree about, reuse the settled verdicts."""

from datetime import UTC
from functools import partial
from typing import Final

import numpy as np

from recurring_eval.caching import CacheUse, build_cache, cache_score, window_rows
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix


def score_with_caches(
    source: ResponseMatrix,
    use: CacheUse,
    targets: ResponseMatrix,
    _k: int,
    _rng: np.random.Generator,
) -> Scored:
    """Estimate each target with the cache of the seven days before its own.

    In use, every day's runs feed the next day's cache. So do targets here:
    those of strictly earlier days count as history, together with the source.
    How many questions are asked is an outcome.
    """
    history = _joined(source, targets)
    days = [start.astimezone(UTC).date() for start in targets.started_at]
    score = np.full(targets.n_runs, np.nan)
    observed = targets.trials > 0
    for day in sorted(set(days)):
        rows = np.array([i for i, run_day in enumerate(days) if run_day == day])
        cache = build_cache(history.select_runs(window_rows(history, day)))
        trials = targets.trials[rows]
        observed[rows] &= ~cache.cached
        score[rows] = cache_score(
            cache, targets.passes[rows], trials, use=use, population=trials > 0
        )
    return Scored(score=score, observed=observed)


def _joined(source: ResponseMatrix, targets: ResponseMatrix) -> ResponseMatrix:
    """Source runs and those targets that are not among them."""
    known = set(source.run_ids)
    new = targets.select_runs(np.array([run not in known for run in targets.run_ids], dtype=bool))
    return ResponseMatrix(
        passes=np.concatenate([source.passes, new.passes]),
        trials=np.concatenate([source.trials, new.trials]),
        run_ids=source.run_ids + new.run_ids,
        question_ids=source.question_ids,
        started_at=source.started_at + new.started_at,
        agents=source.agents + new.agents,
    )


CACHE: Final = ReplayMethod(
    name="cache",
    description="Runs what recent runs disagree about and reuses the settled verdicts.",
    source="She and Lin 2026",
    fit=lambda source, _: partial(score_with_caches, source, "majority"),
    budget_is_outcome=True,
)

CACHE_RATE: Final = ReplayMethod(
    name="cache+rate",
    description="The same questions; settled ones count with their recent pass rate.",
    source="She and Lin 2026",
    fit=lambda source, _: partial(score_with_caches, source, "rate"),
    budget_is_outcome=True,
)
