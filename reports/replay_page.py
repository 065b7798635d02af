"""What a replay page shows: the records of a replay, and which methods are drawn how."""

import math
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from recurring_eval.replay.advise import Advice
from recurring_eval.replay.compare import PairedComparison
from recurring_eval.replay.summary import MetricRow
from recurring_eval.response_matrix import ResponseMatrix

MAX_COLOURED: Final = 6
OTHER: Final = "line-strong"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTarget:
    """One run as one method estimated it over splits and seeds.

    Attributes
    ----------
    full_pass_rate, estimate : float
        Fractions; the estimate is the mean.
    absolute_error_pp : float
        Mean absolute error.
    worst_error_pp, first_error_pp : float
        The signed error of largest size, and that of the first estimate.
    """

    run_id: str
    agent: str
    full_pass_rate: float
    estimate: float
    absolute_error_pp: float
    worst_error_pp: float
    first_error_pp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPage:
    """One replay.

    Attributes
    ----------
    label : str
        The data: file, or benchmark and family.
    described : str
        The protocol in words.
    matrix : ResponseMatrix
        The runs.
    unit : {"agent", "run"}
        What the paired comparisons resample.
    advice : Advice
        The conclusion; details are drawn at its budget.
    rows : tuple of MetricRow
        Those of the main group first.
    skipped : tuple of (str, str)
        Methods without figures, and why.
    """

    label: str
    protocol: str
    described: str
    made_at: datetime
    version: str
    matrix: ResponseMatrix
    unit: Literal["agent", "run"]
    advice: Advice
    rows: tuple[MetricRow, ...]
    comparisons: tuple[PairedComparison, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_agents(self) -> int:
        """Number of distinct agents."""
        return len(set(self.matrix.agents))

    @property
    def main_rows(self) -> tuple[MetricRow, ...]:
        """Rows of the main group."""
        return tuple(row for row in self.rows if row.group == self.rows[0].group)

    def targets(self, method: str) -> list[ReplayTarget]:
        """List the main group's runs that a method estimated at the advised budget."""
        return [
            ReplayTarget(
                run_id=self.matrix.run_ids[run],
                agent=self.matrix.agents[run],
                full_pass_rate=float(row.targets.full_pass_rate[i]),
                estimate=float(row.targets.estimate[i]),
                absolute_error_pp=float(row.targets.absolute_error_pp[i]),
                worst_error_pp=float(row.targets.worst_error_pp[i]),
                first_error_pp=float(row.targets.first_error_pp[i]),
            )
            for row in self.main_rows
            if (row.method, row.budget) == (method, self.advice.budget)
            for i, run in enumerate(row.targets.rows)
            if math.isfinite(row.targets.estimate[i])
        ]


def ranked_methods(page: ReplayPage) -> list[str]:
    """Methods of the main group, the smallest error first.

    The errors are averaged over budgets, each relative to the best at its budget. Methods
    that decide their budget themselves come last: theirs are errors of other budgets.
    """
    own = {row.method for row in page.main_rows if row.decides_budget}
    best: dict[str, float] = {}
    for row in page.main_rows:
        best[row.budget] = min(best.get(row.budget, row.metrics.mae_pp), row.metrics.mae_pp)
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in page.main_rows:
        ratios[row.method].append((row.metrics.mae_pp + 0.1) / (best[row.budget] + 0.1))
    return sorted(
        ratios, key=lambda method: (method in own, sum(ratios[method]) / len(ratios[method]))
    )


def method_colours(page: ReplayPage) -> dict[str, str]:
    """Page colour of each method: the best ones and the baseline have their own.

    `random`, where it was tried, is always among them.
    """
    ranked = ranked_methods(page)
    own = ranked[:MAX_COLOURED]
    if "random" in ranked and "random" not in own:
        own[-1] = "random"
    places = {method: f"series-{place}" for place, method in enumerate(own, start=1)}
    return {method: places.get(method, OTHER) for method in ranked}
