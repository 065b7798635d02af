"""Full runs against what each method would have said of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.runs.run_table import UTC_MICROSECONDS
from storage.times import from_store, to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class FullRunCheck:
    """One full run, one method, one size.

    Attributes
    ----------
    run_id : int
        The history's integer.
    run_key : str
    started_at : datetime
        Start of the run.
    method : str
    k : int
    subset_id : str or None
    calibration_id : int or None
    estimate, low, high, full_pass_rate : float
        Fractions.
    error_pp : float
        Estimate less full pass rate, in percentage points.
    covered : bool
        Whether the interval held the full pass rate.
    checked_at : datetime
    """

    run_id: int
    run_key: str
    started_at: datetime
    method: str
    k: int
    subset_id: str | None
    calibration_id: int | None
    estimate: float
    low: float
    high: float
    full_pass_rate: float
    error_pp: float
    covered: bool
    checked_at: datetime


def save_checks(history: History, checks: Sequence[FullRunCheck]) -> None:
    """Store checks; each replaces the former one of its run, method and k."""
    if not checks:
        return
    moments = [to_utc(check.checked_at, "`checked_at`") for check in checks]
    rows = pa.table(
        {
            "run_id": pa.array([check.run_id for check in checks], pa.int32()),
            "method": pa.array([check.method for check in checks], pa.string()),
            "k": pa.array([check.k for check in checks], pa.int32()),
            "subset_id": pa.array([check.subset_id for check in checks], pa.string()),
            "calibration_id": pa.array([check.calibration_id for check in checks], pa.int32()),
            **{
                name: pa.array([getattr(check, name) for check in checks], pa.float64())
                for name in ("estimate", "low", "high", "full_pass_rate", "error_pp")
            },
            "covered": pa.array([check.covered for check in checks], pa.bool_()),
            "checked_at": pa.array(moments, UTC_MICROSECONDS),
        }
    )
    history.execute_with(
        rows,
        "DELETE FROM full_run_check USING incoming WHERE full_run_check.run_id = incoming.run_id"
        " AND full_run_check.method = incoming.method AND full_run_check.k = incoming.k",
    )
    history.insert("full_run_check", rows)


def list_checks(
    history: History,
    benchmark: str,
    *,
    family: str | None = None,
    since: datetime | None = None,
) -> list[FullRunCheck]:
    """List checks by run, method and k, if `since` is given of runs started from then on."""
    start = to_utc(since, "`since`")
    rows = history.rows(
        "SELECT c.run_id, r.run_key, r.started_at, c.method, c.k, c.subset_id, c.calibration_id,"
        " c.estimate, c.low, c.high, c.full_pass_rate, c.error_pp, c.covered, c.checked_at"
        " FROM full_run_check AS c JOIN run AS r USING (run_id) WHERE r.benchmark_id = ?"
        " AND (?::VARCHAR IS NULL OR r.agent_family = ?)"
        " AND (?::TIMESTAMPTZ IS NULL OR r.started_at >= ?)"
        " ORDER BY r.started_at, r.run_key, c.method, c.k",
        [benchmark_row_id(history, benchmark), family, family, start, start],
    )
    return [
        FullRunCheck(
            run_id=row[0],
            run_key=row[1],
            started_at=from_store(row[2]),
            method=row[3],
            k=row[4],
            subset_id=row[5],
            calibration_id=row[6],
            estimate=row[7],
            low=row[8],
            high=row[9],
            full_pass_rate=row[10],
            error_pp=row[11],
            covered=row[12],
            checked_at=from_store(row[13]),
        )
        for row in rows
    ]
