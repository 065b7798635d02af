"""From the estimates of every fold to one row of metrics per method and budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.replay.budgets import Budget
from recurring_eval.replay.engine import BudgetEstimates, FoldEstimates
from recurring_eval.replay.metrics import (
    ScoreMetrics,
    mean_metrics,
    mean_of_known,
    score_metrics,
)
from recurring_eval.replay.splits import Plan, Split
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
    targets: "TargetErrors"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetErrors:
    """Errors on each target of a group, over splits and seeds.

    Attributes
    ----------
    rows : ndarray of intp, shape (m,)
        Rows of the response matrix.
    full_pass_rate, estimate : ndarray, shape (m,)
        Fractions; the estimate is the mean, NaN where there was none.
    absolute_error_pp : ndarray, shape (m,)
        Mean absolute error.
    worst_error_pp : ndarray, shape (m,)
        The signed error of largest size.
    """

    rows: NDArray[np.intp]
    full_pass_rate: NDArray[np.float64]
    estimate: NDArray[np.float64]
    absolute_error_pp: NDArray[np.float64]
    worst_error_pp: NDArray[np.float64]


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
    truth = matrix.pass_rates()
    rows = []
    for group in plan.group_names:
        for budget in budgets:
            for method in methods:
                row = _row(plan, results, truth, group, method, budget, matrix.n_questions)
                if row is not None:
                    rows.append(row)
    return rows


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pooled:
    """Estimates of all runs of one split under one seed; NaN for runs not tested."""

    pass_rate: NDArray[np.float64]
    n_executed: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def _row(
    plan: Plan,
    results: Mapping[FoldKey, Sequence[FoldEstimates]],
    truth: NDArray[np.float64],
    group: str,
    method: str,
    budget: Budget,
    n_questions: int,
) -> MetricRow | None:
    k = budget.size(n_questions)
    metrics: list[ScoreMetrics] = []
    errors: list[NDArray[np.float64]] = []
    cpu, fit_cpu, n_targets, n_splits, n_seeds = 0.0, [], 0, 0, 1
    members = np.zeros(truth.size, dtype=np.bool_)
    for split in plan.splits:
        found = [g.rows for g in split.groups if g.name == group]
        if not found:
            continue
        of_folds = [results[split.number, i, method] for i in range(len(split.folds))]
        if any(estimates.failure for fold in of_folds for estimates in fold):
            return None
        rows = np.unique(np.concatenate(found))
        members[rows] = True
        n_splits += 1
        seeds = sorted({estimates.seed for fold in of_folds for estimates in fold})
        n_seeds = max(n_seeds, len(seeds))
        for seed in seeds:
            pooled = _pool(split, of_folds, seed, k, truth.size)
            if not np.isfinite(pooled.pass_rate[rows]).any():
                continue
            metrics.append(
                score_metrics(
                    pooled.pass_rate[rows],
                    truth[rows],
                    n_executed=pooled.n_executed[rows],
                    n_questions=n_questions,
                    low=pooled.low[rows],
                    high=pooled.high[rows],
                )
            )
            error = np.full(truth.size, np.nan)
            error[rows] = 100.0 * (pooled.pass_rate[rows] - truth[rows])
            errors.append(error)
        for fold, estimates_of_fold in zip(split.folds, of_folds, strict=True):
            for estimates in estimates_of_fold:
                cpu += _at_size(estimates, k).cpu_s
                n_targets += fold.targets.size
                fit_cpu.append(np.nan if estimates.fit_cpu_s is None else estimates.fit_cpu_s)
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
        cpu_s_per_target=cpu / n_targets,
        fit_cpu_s=mean_of_known(fit_cpu),
        n_splits=n_splits,
        n_seeds=n_seeds,
        targets=_target_errors(stacked, truth, np.flatnonzero(members)),
    )


def _pool(
    split: Split,
    of_folds: Sequence[Sequence[FoldEstimates]],
    seed: int,
    k: int,
    n_runs: int,
) -> _Pooled:
    arrays = {name: np.full(n_runs, np.nan) for name in ("pass_rate", "n_executed", "low", "high")}
    for fold, estimates_of_fold in zip(split.folds, of_folds, strict=True):
        of_seed = [e for e in estimates_of_fold if e.seed == seed] or estimates_of_fold[:1]
        estimates = _at_size(of_seed[0], k)
        for name, array in arrays.items():
            values = getattr(estimates, name)
            if values is not None:
                array[fold.targets] = values
    return _Pooled(**arrays)


def _at_size(estimates: FoldEstimates, k: int) -> BudgetEstimates:
    return next(budget for budget in estimates.budgets if budget.k == k)


def _target_errors(
    errors: NDArray[np.float64], truth: NDArray[np.float64], rows: NDArray[np.intp]
) -> TargetErrors:
    """Errors, shape (n_estimates, n_runs), by run."""
    mine = errors[:, rows]
    known = np.isfinite(mine)
    count = known.sum(axis=0)
    filled = np.where(known, mine, 0.0)
    with np.errstate(invalid="ignore"):
        bias = filled.sum(axis=0) / np.where(count > 0, count, np.nan)
        absolute = np.abs(filled).sum(axis=0) / np.where(count > 0, count, np.nan)
    largest = np.abs(filled).argmax(axis=0)
    worst = np.where(count > 0, filled[largest, np.arange(rows.size)], np.nan)
    return TargetErrors(
        rows=rows,
        full_pass_rate=truth[rows],
        estimate=truth[rows] + bias / 100.0,
        absolute_error_pp=absolute,
        worst_error_pp=worst,
    )
