"""What a replay page shows: plain values, filled by jobs, drawn by `render_replay`.

Units as in `reports.context`: shares are fractions, names that end in ``_pp`` are percentage
points, and a number that is not known is None.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from reports.checks import check_fields

ReplayVerdict = Literal["usable", "tracking only", "not usable", "too little data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """One method at one budget, over one group of targets.

    Attributes
    ----------
    group : str
        Empty where the protocol does not tell groups apart.
    budget : str
        As the user wrote it.
    decides_budget : bool
        Whether the method itself decides how many questions it asks.
    within_90_pp : float
        Distance within which 90 % of the estimates lay of the full pass rate.
    """

    group: str
    method: str
    budget: str
    k: int
    mae_pp: float
    max_error_pp: float
    bias_pp: float
    within_90_pp: float
    spearman: float | None
    kendall_tau: float | None
    execution_fraction: float
    coverage_90: float | None
    width_90_pp: float | None
    cpu_s_per_target: float
    fit_cpu_s: float
    n_targets: int
    n_splits: int
    decides_budget: bool = False

    def __post_init__(self) -> None:
        check_fields(self, shares=("execution_fraction", "coverage_90"))


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
    method: str
    budget: str
    full_pass_rate: float
    estimate: float
    absolute_error_pp: float
    worst_error_pp: float
    first_error_pp: float

    def __post_init__(self) -> None:
        check_fields(self, shares=("full_pass_rate",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayComparison:
    """Paired difference of two methods' mean errors; negative favours `first`."""

    budget: str
    first: str
    second: str
    difference_pp: float
    low_pp: float
    high_pp: float
    p_value: float
    p_holm: float
    n_targets: int

    def __post_init__(self) -> None:
        check_fields(self, shares=("p_value", "p_holm"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPage:
    """One replay.

    Attributes
    ----------
    label : str
        The data: file, or benchmark and family.
    described : str
        The protocol in words.
    unit : {"agent", "run"}
        What the paired comparisons resample.
    advised_method, advised_budget : str
        What the conclusion is about; details are drawn at this budget.
    rows : tuple of ReplayRow
        Those of the main group first.
    targets : tuple of ReplayTarget
        Of the main group.
    skipped : tuple of (str, str)
        Methods without figures, and why.
    """

    label: str
    protocol: str
    described: str
    made_at: datetime
    version: str
    n_runs: int
    n_agents: int
    n_questions: int
    unit: Literal["agent", "run"]
    verdict: ReplayVerdict
    sentences: tuple[str, ...]
    advised_method: str
    advised_budget: str
    rows: tuple[ReplayRow, ...]
    targets: tuple[ReplayTarget, ...]
    comparisons: tuple[ReplayComparison, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def main_rows(self) -> tuple[ReplayRow, ...]:
        """Rows of the main group."""
        return tuple(row for row in self.rows if row.group == self.rows[0].group)
