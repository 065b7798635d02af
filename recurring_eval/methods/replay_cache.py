"""Historical caching, prepared for replays."""

from dataclasses import dataclass
from datetime import UTC
from typing import Final

import numpy as np

from recurring_eval.caching import CacheUse, build_cache, cache_score, window_rows
from recurring_eval.methods.cache import CACHE, CACHE_RATE
from recurring_eval.methods.method import Method
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.response_matrix import ResponseMatrix


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheScorer:
    """Source runs, from which each target's cache is built."""

    source: ResponseMatrix
    use: CacheUse

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:  # noqa: ARG002  how many questions are asked is an outcome, and nothing is drawn
        """Estimate each target with the cache of the seven days before its own.

        In use, every day's runs feed the next day's cache. So do targets here:
        those of strictly earlier days count as history, together with the source.
        """
        history = _joined(self.source, targets)
        days = [start.astimezone(UTC).date() for start in targets.started_at]
        score = np.full(targets.n_runs, np.nan)
        observed = targets.trials > 0
        for day in sorted(set(days)):
            rows = np.array([i for i, run_day in enumerate(days) if run_day == day])
            cache = build_cache(history.select_runs(window_rows(history, day)))
            trials = targets.trials[rows]
            observed[rows] &= ~cache.cached
            score[rows] = cache_score(
                cache, targets.passes[rows], trials, use=self.use, population=trials > 0
            )
        return Scored(score=score, observed=observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSource:
    """Nothing to fit: the cache is counted from the source when a target's day is known."""

    use: CacheUse

    def __call__(self, source: ResponseMatrix, rng: np.random.Generator) -> CacheScorer:  # noqa: ARG002  nothing is drawn
        """Keep the source runs."""
        return CacheScorer(source=source, use=self.use)


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


_USES: Final[tuple[tuple[Method, CacheUse], ...]] = ((CACHE, "majority"), (CACHE_RATE, "rate"))

CACHE_REPLAYS: Final = tuple(
    ReplayMethod(
        name=method.name,
        description=method.description,
        prepare=PrepareInOrder(fit=KeepSource(use=use)),
        product=True,
        source="She and Lin 2026",
        budget_is_outcome=True,
    )
    for method, use in _USES
)
