"""Replay pages without a replay: realistic, of one budget, grouped, hostile."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from reports.replay_context import ReplayComparison, ReplayPage, ReplayRow, ReplayTarget
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
    rows = tuple(
        _row(group, method, budget, k, factor[method] * 30 / np.sqrt(k), n_targets)
        for group in groups
        for budget, k in sizes.items()
        for method in methods
    )
    advised = list(sizes)[-1]
    truths = rng.uniform(0.3, 0.8, n_targets)
    targets = tuple(
        ReplayTarget(
            run_id=f"run-{i:04d}",
            agent=f"agent-{i % 9}",
            method=method,
            budget=advised,
            full_pass_rate=float(truths[i]),
            estimate=float(truths[i] + error / 100),
            absolute_error_pp=float(abs(error)),
            worst_error_pp=float(1.5 * error),
            first_error_pp=float(error),
        )
        for method in methods
        for i, error in enumerate(rng.normal(0, 2 * factor[method], n_targets))
    )
    pairs = tuple(
        ReplayComparison(
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
        n_runs=120,
        n_agents=9,
        n_questions=519,
        unit="run",
        verdict="usable",
        sentences=("Usable: with rasch-cat and 200 questions, all is well.", "For ±2 pp: none."),
        advised_method=methods[0],
        advised_budget=advised,
        rows=rows,
        targets=targets,
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
        sentences=(name, name),
        skipped=((name, name),),
        notes=(name,),
        targets=tuple(replace(t, run_id=f"{name}{t.run_id}", agent=name) for t in page.targets),
    )


def _row(group: str, method: str, budget: str, k: int, error: float, n_targets: int) -> ReplayRow:
    return ReplayRow(
        group=group,
        method=method,
        budget=budget,
        k=k,
        mae_pp=float(error),
        max_error_pp=float(3 * error),
        bias_pp=float(-error / 9),
        within_90_pp=float(2 * error),
        spearman=0.93,
        kendall_tau=float(1 - error / 60),
        execution_fraction=k / 519,
        coverage_90=0.88 if method == "mirt-cat" else None,
        width_90_pp=7.5 if method == "mirt-cat" else None,
        cpu_s_per_target=0.0123,
        fit_cpu_s=0.4,
        n_targets=n_targets,
        n_splits=1,
    )
