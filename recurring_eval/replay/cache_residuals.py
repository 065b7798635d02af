"""Residuals of historical caching, replayed day by day."""

from datetime import UTC

import numpy as np
from numpy.typing import NDArray

from recurring_eval.caching import EPSILON, MIN_TRIALS, WINDOW_DAYS, build_cache, window_rows
from recurring_eval.calibration.models import RaschModel
from recurring_eval.estimators import clip_to_feasible
from recurring_eval.methods import Method, gather_evidence
from recurring_eval.methods.cache import CACHE
from recurring_eval.replay.residuals import ReplayResidual
from recurring_eval.response_matrix import ResponseMatrix


def cache_residuals(
    matrix: ResponseMatrix,
    *,
    model: RaschModel,
    routine: NDArray[np.bool_] | None = None,
    targets: NDArray[np.bool_] | None = None,
    method: Method = CACHE,
    epsilon: float = EPSILON,
    n_days: int = WINDOW_DAYS,
    min_trials: int = MIN_TRIALS,
) -> list[ReplayResidual]:
    """Estimate each full run with the cache of the days before it.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs, rows in any order; questions as in `model`.
    model : RaschModel
        Gives the model standard deviations; caching itself uses none.
    routine : ndarray of bool, shape (n_runs,), optional
        Runs whose verdicts feed the cache; by default all.
    targets : ndarray of bool, shape (n_runs,), optional
        Runs to estimate; by default all.
    method : Method, optional
        `CACHE` or `CACHE_RATE`.
    epsilon, n_days, min_trials
        As in `build_cache` and `window_rows`.

    Returns
    -------
    list of ReplayResidual
        In row order. `k` is the number of the run's valid questions that were
        left to execute; a run that left none has no residual.
    """
    feeds = np.ones(matrix.n_runs, dtype=np.bool_) if routine is None else routine
    wanted = np.ones(matrix.n_runs, dtype=np.bool_) if targets is None else targets
    days = np.array([start.astimezone(UTC).date().toordinal() for start in matrix.started_at])
    by_row: dict[int, ReplayResidual] = {}
    for ordinal in np.unique(days[wanted]):
        rows = np.flatnonzero(wanted & (days == ordinal))
        day = matrix.started_at[rows[0]].astimezone(UTC).date()
        before = window_rows(matrix, day, n_days=n_days)
        window = matrix.select_runs(before[feeds[before]])
        cache = build_cache(window, epsilon=epsilon, min_trials=min_trials)
        runs = matrix.select_runs(rows)
        evidence = gather_evidence(
            model,
            runs.passes,
            runs.trials,
            weights=np.zeros(matrix.n_questions),
            asked=~cache.cached,
            population=runs.trials > 0,
            cache=cache,
        )
        estimates = clip_to_feasible(
            method.scores(evidence),
            evidence.passes,
            evidence.trials,
            population=evidence.population,
        )
        model_sd = evidence.variance().model_sd
        executed = evidence.observed.sum(axis=1)
        truth = runs.pass_rates()
        for i in np.flatnonzero(executed):
            by_row[int(rows[i])] = ReplayResidual(
                run_id=runs.run_ids[i],
                method=method.name,
                k=int(executed[i]),
                estimate=float(estimates[i]),
                full_pass_rate=float(truth[i]),
                error=float(estimates[i] - truth[i]),
                model_sd=float(model_sd[i]),
            )
    return [by_row[row] for row in sorted(by_row)]
