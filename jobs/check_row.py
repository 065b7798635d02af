"""One full run as it is judged: by whom, from which verdicts, with which result."""

from dataclasses import dataclass
from datetime import datetime

from jobs.verdict_counts import Verdicts
from recurring_eval.records import Run, ScoreEstimate
from storage.calibration_records import CalibrationRecord
from storage.checks import FullRunCheck
from storage.subsets import SubsetRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A full run with what judges it.

    Attributes
    ----------
    run : Run
    verdicts : Verdicts
        On the calibration's questions.
    full_pass_rate : float
    calibration : CalibrationRecord
        Its data end before the run.
    subsets : tuple of SubsetRecord
        In force when the run started, one per size.
    """

    run: Run
    verdicts: Verdicts
    full_pass_rate: float
    calibration: CalibrationRecord
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
        calibration_id=judged.calibration.calibration_id,
        estimate=estimate.pass_rate,
        low=estimate.low,
        high=estimate.high,
        full_pass_rate=full,
        error_pp=100.0 * (estimate.pass_rate - full),
        covered=estimate.low <= full <= estimate.high,
        checked_at=now,
    )
