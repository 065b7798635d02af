"""Replay pages without a replay: realistic, of one budget, grouped, hostile."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from recurring_eval.replay.advise import Advice, Verdict
from recurring_eval.replay.compare import PairedComparison
from recurring_eval.replay.metrics import ScoreMetrics, TargetErrors
from recurring_eval.replay.summary import MetricRow
from recurring_eval.response_matrix import ResponseMatrix
from reports.replay_page import ReplayPage
from tests.reports.sample_page import MADE_AT

METHODS = ("random", "stratified", "stratified+gpirt", "rasch-cat", "mirt-cat", "rsl", "midrange")
BUDGETS = {"5%": 26, "10%": 52, "200": 200}


def sample_replay(
    *,
    methods: tuple[str, ...] = METHODS,
    budgets: dict[str, int] | None = None,
    groups: tuple[str, ...] = ("",),
    n_targets: int = 60,
) -> ReplayPage:
    """Page of a replay whose methods differ by a constant factor, the last far off."""
    rng = np.random.default_rng(0)
    sizes = BUDGETS if budgets is None else budgets
    factor = {m: (8.0 if m == "midrange" else 1 - 0.08 * i) for i, m in enumerate(methods)}
    advised = list(sizes)[-1]
    truths = rng.uniform(0.3, 0.8, n_targets)
    targets = {m: _targets(truths, rng.normal(0, 2 * factor[m], n_targets)) for m in methods}
    rows = tuple(
        _row(group, method, budget, k, factor[method] * 30 / np.sqrt(k), targets[method])
        for group in groups
        for budget, k in sizes.items()
        for method in methods
    )
    pairs = tuple(
        PairedComparison(
            budget=budget,
            first=first,
            second=second,
            difference_pp=-0.5,
            low_pp=-0.9,
            high_pp=0.1,
            p_value=0.04,
            p_holm=0.3,
            n_targets=n_targets,
        )
        for budget in sizes
        for first, second in combinations(sorted(methods, key=factor.__getitem__), 2)
    )
    return ReplayPage(
        label="sample.csv",
        protocol="chronological",
        described="the first 60 of 120 runs in time order calibrate",
        made_at=MADE_AT,
        version="0.1.0",
        matrix=_runs(max(120, n_targets)),
        unit="run",
        advice=Advice(
            verdict=Verdict.USABLE,
            sentences=(
                "Usable: with rasch-cat and 200 questions, all is well.",
                "For ±2 pp: none.",
            ),
            method=methods[0],
            budget=advised,
            k_for_pp={},
        ),
        rows=rows,
        comparisons=pairs,
        skipped=(("cache", "these runs have no `started_at`"),),
        notes=("1 of 121 runs is left out",),
    )


def hostile_replay(name: str) -> ReplayPage:
    """Replay in which every text comes from somebody unfriendly."""
    page = sample_replay(methods=("random", name), groups=(name, "b"), n_targets=4)
    return replace(
        page,
        label=name,
        described=name,
        advice=replace(page.advice, sentences=(name, name)),
        skipped=((name, name),),
        notes=(name,),
        matrix=replace(
            page.matrix,
            run_ids=tuple(f"{name}{run_id}" for run_id in page.matrix.run_ids),
            agents=(name,) * page.matrix.n_runs,
        ),
    )


def _runs(n_runs: int) -> ResponseMatrix:
    passes = np.zeros((n_runs, 519), dtype=np.int16)
    return ResponseMatrix(
        passes=passes,
        trials=passes + 1,
        run_ids=tuple(f"run-{i:04d}" for i in range(n_runs)),
        question_ids=tuple(f"question-{j}" for j in range(519)),
        started_at=(MADE_AT,) * n_runs,
        agents=tuple(f"agent-{i % 9}" for i in range(n_runs)),
    )


def _targets(truths: np.ndarray, errors: np.ndarray) -> TargetErrors:
    return TargetErrors(
        rows=np.arange(len(truths)),
        full_pass_rate=truths,
        estimate=truths + errors / 100,
        absolute_error_pp=np.abs(errors),
        worst_error_pp=1.5 * errors,
        first_error_pp=errors,
    )


def _row(
    group: str, method: str, budget: str, k: int, error: float, targets: TargetErrors
) -> MetricRow:
    has_intervals = method == "mirt-cat"
    return MetricRow(
        group=group,
        method=method,
        budget=budget,
        k=k,
        metrics=ScoreMetrics(
            mae_pp=float(error),
            max_error_pp=float(3 * error),
            bias_pp=float(-error / 9),
            spearman=0.93,
            kendall_tau=float(1 - error / 60),
            execution_fraction=k / 519,
            coverage_90=0.88 if has_intervals else np.nan,
            width_90_pp=7.5 if has_intervals else np.nan,
            n_targets=float(len(targets.rows)),
        ),
        within_90_pp=float(2 * error),
        cpu_s_per_target=0.0123,
        fit_cpu_s=0.4,
        n_splits=1,
        n_seeds=1,
        decides_budget=False,
        targets=targets,
    )
