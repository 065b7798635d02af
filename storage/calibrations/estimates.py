"""Estimates that were given for runs, all kept, and full runs checked against them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

import numpy as np

from recurring_eval.records import (
    AbilityEstimate,
    Flag,
    HsprDiagnostics,
    Run,
    ScoreDistribution,
    ScoreEstimate,
)
from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.values import columns, to_utc

SCALARS: Final = (
    *("pass_rate", "low", "high", "rerun_low", "rerun_high", "level", "method"),
    *("n_asked", "n_valid", "n_reused", "model_fingerprint"),
)
"""Fields of an estimate that are columns as they are."""
SELECT: Final = f"""
SELECT e.estimate_id, b.name, e.run_id, r.run_key, e.k, e.subset_id, e.calibration_id,
       e.created_at, e.flags, e.theta, e.theta_covariance, e.theta_n_observed,
       e.hspr_diagnostics, {{distribution}}, {", ".join(f"e.{name}" for name in SCALARS)}
FROM estimate AS e JOIN run AS r USING (run_id) JOIN benchmark AS b USING (benchmark_id)
"""
STORED: Final = (
    *("run_id", "method", "k", "subset_id", "calibration_id", "estimate", "low", "high"),
    *("full_pass_rate", "error_pp", "covered"),
)
"""Columns of a full-run check beside its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRecord:
    """An estimate with the run, subset and calibration it belongs to."""

    estimate_id: int
    benchmark: str
    run_id: int
    run_key: str
    k: int
    subset_id: str | None
    calibration_id: int | None
    created_at: datetime
    estimate: ScoreEstimate


def save_estimate(
    history: History,
    run: Run,
    estimate: ScoreEstimate,
    *,
    k: int,
    subset_id: str | None,
    calibration_id: int | None,
    created_at: datetime,
) -> int:
    """Add an estimate of a stored run and return its id."""
    estimate_id = history.next_id("estimate")
    theta, distribution = estimate.theta, estimate.distribution
    history.insert_row(
        "estimate",
        estimate_id=estimate_id,
        run_id=run.run_id,
        k=k,
        subset_id=subset_id,
        calibration_id=calibration_id,
        created_at=to_utc(created_at, "`created_at`"),
        **{name: getattr(estimate, name) for name in SCALARS},
        theta=None if theta is None else theta.theta.tolist(),
        theta_covariance=None if theta is None else theta.covariance.ravel().tolist(),
        theta_n_observed=None if theta is None else theta.n_observed,
        flags=[flag.value for flag in estimate.flags],
        score_values=None if distribution is None else distribution.values.tolist(),
        score_pmf=None if distribution is None else distribution.pmf.tolist(),
        hspr_diagnostics=_diagnostics_to_json(estimate.diagnostics),
    )
    return estimate_id


def list_estimates(
    history: History, benchmark: str, *, run: Run | None = None
) -> list[EstimateRecord]:
    """Estimates of a benchmark, or of one run of it, in the order they were given.

    Only those of one run come with the score's distribution: over a benchmark they are
    many, and it makes reading one of them fifteen times slower.
    """
    run_id = None if run is None else run.run_id
    distribution = "NULL, NULL" if run is None else "e.score_values, e.score_pmf"
    rows = history.rows(
        SELECT.format(distribution=distribution)
        + " WHERE r.benchmark_id = ? AND (?::INTEGER IS NULL OR e.run_id = ?)"
        " ORDER BY e.created_at, e.estimate_id",
        [benchmark_row_id(history, benchmark), run_id, run_id],
    )
    return [_record(row) for row in rows]


def _record(row: Sequence[Any]) -> EstimateRecord:
    estimate_id, benchmark, run_id, run_key, k, subset_id, calibration_id, created_at = row[:8]
    flags, theta, covariance, n_observed, diagnostics, values, pmf = row[8:15]
    return EstimateRecord(
        estimate_id=estimate_id,
        benchmark=benchmark,
        run_id=run_id,
        run_key=run_key,
        k=k,
        subset_id=subset_id,
        calibration_id=calibration_id,
        created_at=created_at,
        estimate=ScoreEstimate(
            **dict(zip(SCALARS, row[15:], strict=True)),
            theta=_theta(theta, covariance, n_observed),
            flags=tuple(Flag(flag) for flag in flags),
            distribution=_distribution(values, pmf),
            diagnostics=_diagnostics_from_json(diagnostics),
        ),
    )


def _theta(
    theta: list[float] | None, covariance: list[float] | None, n_observed: int | None
) -> AbilityEstimate | None:
    if theta is None or covariance is None or n_observed is None:
        return None
    square = np.reshape(covariance, (len(theta), len(theta)))
    return AbilityEstimate(theta=np.array(theta), covariance=square, n_observed=n_observed)


def _distribution(values: list[float] | None, pmf: list[float] | None) -> ScoreDistribution | None:
    if values is None or pmf is None:
        return None
    return ScoreDistribution(values=np.array(values), pmf=np.array(pmf))


def _diagnostics_to_json(diagnostics: HsprDiagnostics | None) -> str | None:
    if diagnostics is None:
        return None
    document = {field.name: getattr(diagnostics, field.name) for field in fields(diagnostics)}
    document["latent_weights"] = dict(diagnostics.latent_weights)
    return json.dumps(document, allow_nan=False)


def _diagnostics_from_json(text: str | None) -> HsprDiagnostics | None:
    return None if text is None else HsprDiagnostics(**json.loads(text))


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
    """Store checks; each replaces the previous one of its run, method and k."""
    if not checks:
        return
    rows = columns(
        {
            **{name: [getattr(check, name) for check in checks] for name in STORED},
            "checked_at": [to_utc(check.checked_at, "`checked_at`") for check in checks],
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
    return history.records(
        FullRunCheck,
        f"SELECT {', '.join(f'c.{name}' for name in STORED)}, c.checked_at,"
        " r.run_key, r.started_at"
        " FROM full_run_check AS c JOIN run AS r USING (run_id) WHERE r.benchmark_id = ?"
        " AND (?::VARCHAR IS NULL OR r.agent_family = ?)"
        " AND (?::TIMESTAMPTZ IS NULL OR r.started_at >= ?)"
        " ORDER BY r.started_at, r.run_key, c.method, c.k",
        [benchmark_row_id(history, benchmark), family, family, start, start],
    )
