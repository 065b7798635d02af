"""One full run as it is judged: by whom, from which verdicts, with which result."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from jobs.app.targets import Target
from jobs.importing.verdict_counts import Verdicts
from recurring_eval.records import Run, ScoreEstimate
from storage.calibrations.calibrations import StoredCalibration
from storage.calibrations.estimates import FullRunCheck
from storage.calibrations.subsets import SubsetRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A full run with what judges it.

    Attributes
    ----------
    run : Run
    verdicts : Verdicts
        On the calibration's questions.
    full_pass_rate : float
    calibration : StoredCalibration
        Its data end before the run.
    subsets : tuple of SubsetRecord
        In force when the run started, one per size.
    """

    run: Run
    verdicts: Verdicts
    full_pass_rate: float
    calibration: StoredCalibration
    subsets: tuple[SubsetRecord, ...]


def check_row(
    judged: JudgedRun, estimate: ScoreEstimate, *, k: int, subset_id: str | None, now: datetime
) -> FullRunCheck:
    """Compare an estimate with the full pass rate."""
    full = judged.full_pass_rate
    return FullRunCheck(
        run_id=judged.run.run_id,
        run_key=judged.run.run_key,
        started_at=judged.run.started_at,
        method=estimate.method,
        k=k,
        subset_id=subset_id,
        calibration_id=judged.calibration.info.calibration_id,
        estimate=estimate.pass_rate,
        low=estimate.low,
        high=estimate.high,
        full_pass_rate=full,
        error_pp=100.0 * (estimate.pass_rate - full),
        covered=estimate.low <= full <= estimate.high,
        checked_at=now,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSummary:
    """Accuracy of one method at one k over the checked runs; errors in percentage points."""

    benchmark: str
    agent_family: str
    method: str
    k: int
    n: int
    mae_pp: float
    max_error_pp: float
    bias_pp: float
    coverage: float


def summarise(rows: Sequence[FullRunCheck], target: Target) -> list[CheckSummary]:
    """Summarise checks of one target per k and method."""
    groups: dict[tuple[int, str], list[FullRunCheck]] = {}
    for row in rows:
        groups.setdefault((row.k, row.method), []).append(row)
    summary = []
    for (k, method), group in sorted(groups.items()):
        errors = np.array([row.error_pp for row in group])
        summary.append(
            CheckSummary(
                benchmark=target.benchmark,
                agent_family=target.family,
                method=method,
                k=k,
                n=len(group),
                mae_pp=float(np.abs(errors).mean()),
                max_error_pp=float(np.abs(errors).max()),
                bias_pp=float(errors.mean()),
                coverage=float(np.mean([row.covered for row in group])),
            )
        )
    return summary
