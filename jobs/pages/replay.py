"""Fill the page of a replay."""

import math
from datetime import datetime
from importlib.metadata import version as installed_version

from jobs.replaying.replay import Replay
from recurring_eval.replay.summary import MetricRow
from reports.replay_context import ReplayComparison, ReplayPage, ReplayRow, ReplayTarget


def replay_page(result: Replay, *, made_at: datetime) -> ReplayPage:
    """Turn the outcome of a replay into the values of its page."""
    data, setup, advice = result.data, result.setup, result.advice
    main = result.rows[0].group
    return ReplayPage(
        label=data.label,
        protocol=setup.plan.protocol,
        described=setup.described,
        made_at=made_at,
        version=installed_version("recurring-eval"),
        n_runs=data.matrix.n_runs,
        n_agents=data.n_agents,
        n_questions=data.matrix.n_questions,
        unit="agent" if setup.plan.by_agent else "run",
        verdict=advice.verdict.value,
        sentences=advice.sentences,
        advised_method=advice.method,
        advised_budget=advice.budget,
        rows=tuple(_row(row) for row in result.rows),
        targets=tuple(
            target
            for row in result.rows
            if row.group == main and row.budget == advice.budget
            for target in _targets(result, row)
        ),
        comparisons=tuple(
            ReplayComparison(
                budget=pair.budget,
                first=pair.first,
                second=pair.second,
                difference_pp=pair.difference_pp,
                low_pp=pair.low_pp,
                high_pp=pair.high_pp,
                p_value=pair.p_value,
                p_holm=pair.p_holm,
                n_targets=pair.n_targets,
            )
            for pair in result.comparisons
        ),
        skipped=tuple(result.skipped.items()),
        notes=data.notes,
    )


def _row(row: MetricRow) -> ReplayRow:
    m = row.metrics
    return ReplayRow(
        group=row.group,
        method=row.method,
        budget=row.budget,
        k=row.k,
        mae_pp=m.mae_pp,
        max_error_pp=m.max_error_pp,
        bias_pp=m.bias_pp,
        within_90_pp=row.within_90_pp,
        spearman=_known(m.spearman),
        kendall_tau=_known(m.kendall_tau),
        execution_fraction=m.execution_fraction,
        coverage_90=_known(m.coverage_90),
        width_90_pp=_known(m.width_90_pp),
        cpu_s_per_target=row.cpu_s_per_target,
        fit_cpu_s=row.fit_cpu_s,
        n_targets=round(m.n_targets),
        n_splits=row.n_splits,
        decides_budget=row.decides_budget,
    )


def _targets(result: Replay, row: MetricRow) -> list[ReplayTarget]:
    matrix, targets = result.data.matrix, row.targets
    return [
        ReplayTarget(
            run_id=matrix.run_ids[run],
            agent=matrix.agents[run],
            method=row.method,
            budget=row.budget,
            full_pass_rate=float(targets.full_pass_rate[i]),
            estimate=float(targets.estimate[i]),
            absolute_error_pp=float(targets.absolute_error_pp[i]),
            worst_error_pp=float(targets.worst_error_pp[i]),
            first_error_pp=float(targets.first_error_pp[i]),
        )
        for i, run in enumerate(targets.rows)
        if math.isfinite(targets.estimate[i])
    ]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
