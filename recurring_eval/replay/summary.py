"""From the estimates of every fold to one row of metrics per method and budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.methods.replayed import MethodEstimates
from recurring_eval.replay.engine import FoldEstimates
from recurring_eval.replay.metrics import (
    ScoreMetrics,
    TargetErrors,
    mean_metrics,
    mean_of_known,
    score_metrics,
    target_errors,
)
from recurring_eval.replay.splits import Budget, Plan, Split
from recurring_eval.response_matrix import ResponseMatrix

FoldKey = tuple[int, int, str]
"""Split, fold within it, and method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One method at one budget, over the targets of one group.

    Attributes
    ----------
    group, method, budget : str
    k : int
    metrics : ScoreMetrics
        Means over splits and seeds, of metrics over the pooled targets of each.
    within_90_pp : float
        Distance in pp within which 90 % of all estimates lay of the full score.
    cpu_s_per_target, fit_cpu_s : float
        Mean CPU seconds to estimate one target, and to prepare one fold.
    n_splits, n_seeds : int
    decides_budget : bool
        Whether the method decides itself how many questions it asks, whatever k.
    targets : TargetErrors
    """

    group: str
    method: str
    budget: str
    k: int
    metrics: ScoreMetrics
    within_90_pp: float
    cpu_s_per_target: float
    fit_cpu_s: float
    n_splits: int
    n_seeds: int
    decides_budget: bool
    targets: TargetErrors


def summarise(
    plan: Plan,
    results: Mapping[FoldKey, Sequence[FoldEstimates]],
    matrix: ResponseMatrix,
    *,
    methods: Sequence[str],
    budgets: Sequence[Budget],
) -> list[MetricRow]:
    """Pool the targets of each split, then average over seeds and splits.

    Parameters
    ----------
    plan : Plan
    results : mapping
        Every fold's estimates, by seed. Where a method drew nothing on a fold, its
        first seed stands for all.
    matrix : ResponseMatrix
        Its scores are what estimates are compared with.
    methods : sequence of str
        In the order of the rows; a method that failed on a fold has no row.
    budgets : sequence of Budget

    Returns
    -------
    list of MetricRow
        By group, budget and method.
    """
    rows = [
        _row(plan, results, matrix, group, method, budget)
        for group in plan.group_names
        for budget in budgets
        for method in methods
    ]
    return [row for row in rows if row is not None]


def errors_by_target(
    rows: Sequence[MetricRow], agents: Sequence[str] | None = None
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Mean absolute error on each target, by budget and method, for paired comparisons.

    Parameters
    ----------
    rows : sequence of MetricRow
        Of one group.
    agents : sequence of str, optional
        Agent of each run of the matrix: the runs of one are then one target.
    """
    table: dict[str, dict[str, NDArray[np.float64]]] = {}
    for row in rows:
        errors = row.targets.absolute_error_pp
        if agents is not None:
            names = np.array([agents[i] for i in row.targets.rows], dtype=object)
            errors = np.array([mean_of_known(errors[names == a]) for a in sorted(set(names))])
        table.setdefault(row.budget, {})[row.method] = errors
    return table


def _row(
    plan: Plan,
    results: Mapping[FoldKey, Sequence[FoldEstimates]],
    matrix: ResponseMatrix,
    group: str,
    method: str,
    budget: Budget,
) -> MetricRow | None:
    """Average over the splits that have the group; None where the method failed."""
    k = budget.size(matrix.n_questions)
    truth, n_valid = matrix.pass_rates(), (matrix.trials > 0).sum(axis=1)
    rows_of = {split.number: split.groups[group] for split in plan.splits if group in split.groups}
    splits = [split for split in plan.splits if split.number in rows_of]
    of_splits = [
        [results[split.number, i, method] for i in range(len(split.folds))] for split in splits
    ]
    runs = [estimates for folds in of_splits for fold in folds for estimates in fold]
    if any(estimates.failure for estimates in runs):
        return None
    metrics: list[ScoreMetrics] = []
    errors: list[NDArray[np.float64]] = []
    for split, folds in zip(splits, of_splits, strict=True):
        for seed in sorted({estimates.seed for fold in folds for estimates in fold}):
            rows = rows_of[split.number]
            pooled = _pool(split, folds, seed, k, matrix.n_runs)
            if np.isfinite(pooled["pass_rate"][rows]).any():
                metrics.append(
                    score_metrics(
                        pooled["pass_rate"][rows],
                        truth[rows],
                        n_executed=pooled["n_executed"][rows],
                        n_valid=n_valid[rows],
                        low=pooled["low"][rows],
                        high=pooled["high"][rows],
                    )
                )
                error = np.full(matrix.n_runs, np.nan)
                error[rows] = 100.0 * (pooled["pass_rate"] - truth)[rows]
                errors.append(error)
    if not metrics:
        return None
    stacked = np.array(errors)
    return MetricRow(
        group=group,
        method=method,
        budget=budget.text,
        k=k,
        metrics=mean_metrics(metrics),
        within_90_pp=float(np.quantile(np.abs(stacked[np.isfinite(stacked)]), 0.9)),
        cpu_s_per_target=_cpu_per_target(runs, k),
        fit_cpu_s=mean_of_known([np.nan if e.fit_cpu_s is None else e.fit_cpu_s for e in runs]),
        n_splits=len(splits),
        n_seeds=len({estimates.seed for estimates in runs}),
        decides_budget=any(estimates.decides_budget for estimates in runs),
        targets=target_errors(stacked, truth, np.unique(np.concatenate(list(rows_of.values())))),
    )


def _cpu_per_target(runs: Sequence[FoldEstimates], k: int) -> float:
    at_size = [_at_size(estimates, k) for estimates in runs]
    return sum(budget.cpu_s for budget in at_size) / sum(b.pass_rate.size for b in at_size)


def _pool(
    split: Split,
    of_folds: Sequence[Sequence[FoldEstimates]],
    seed: int,
    k: int,
    n_runs: int,
) -> dict[str, NDArray[np.float64]]:
    """Estimates of all runs of one split under one seed; NaN for runs not tested."""
    arrays = {name: np.full(n_runs, np.nan) for name in ("pass_rate", "n_executed", "low", "high")}
    for fold, estimates_of_fold in zip(split.folds, of_folds, strict=True):
        of_seed = [e for e in estimates_of_fold if e.seed == seed] or estimates_of_fold[:1]
        estimates = _at_size(of_seed[0], k)
        for name, array in arrays.items():
            values = getattr(estimates, name)
            if values is not None:
                array[fold.targets] = values
    return arrays


def _at_size(estimates: FoldEstimates, k: int) -> MethodEstimates:
    return next(budget for budget in estimates.budgets if budget.k == k)
