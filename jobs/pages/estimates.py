"""Runs and estimates on a nightly page: pass rates, errors by k, HSPR's sources."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from jobs.nights.history import end_of
from jobs.pages.night_data import NightData
from recurring_eval.intervals import conformal_scale
from recurring_eval.methods.hspr import HSPR_SOURCES
from recurring_eval.methods.registry import checked_methods
from recurring_eval.records import ReplayResidual, Run, RunKind
from reports.error_against_k import ErrorPoint, ErrorsByK
from reports.headline import TodaysError
from reports.listings import HsprSources
from reports.run_history import EstimatedRun, RunHistory
from storage.calibrations.estimates import FullRunCheck, list_estimates

METHODS_SHOWN = tuple(method.name for method in checked_methods())
HISTORY_DAYS = 90
"""Days of history drawn on a page."""
ESTIMATES_SHOWN = 20


def run_history(night: NightData) -> RunHistory:
    """Score the runs of the last days, or of all where there are none, with the estimates."""
    since = end_of(night.day) - timedelta(days=HISTORY_DAYS)
    recent = tuple(scored for scored in night.runs if scored.run.started_at >= since)
    shown = recent or night.runs
    partial = [scored.run for scored in shown if scored.run.kind is not RunKind.FULL]
    return RunHistory(
        level=night.view.level, runs=shown, estimates=tuple(_estimates(night, partial))
    )


def errors_by_k(night: NightData) -> ErrorsByK:
    """Collect the errors of the replayed runs and of the checked ones, by method and k."""
    groups: dict[tuple[str, int], list[FullRunCheck]] = {}
    for check in night.checks:
        groups.setdefault((check.method, check.k), []).append(check)
    return ErrorsByK(
        level=night.view.level,
        methods=METHODS_SHOWN,
        points=(
            *(
                ErrorPoint(
                    source="replay",
                    method=name,
                    k=k,
                    mae_pp=100.0 * float(np.mean([abs(r.error) for r in mine])),
                    bias_pp=100.0 * float(np.mean([r.error for r in mine])),
                    coverage=None,
                    n=len(mine),
                )
                for name, k, mine in _replayed(night)
            ),
            *(
                ErrorPoint(
                    source="check",
                    method=method,
                    k=k,
                    mae_pp=float(np.mean([abs(check.error_pp) for check in group])),
                    bias_pp=float(np.mean([check.error_pp for check in group])),
                    coverage=float(np.mean([check.covered for check in group])),
                    n=len(group),
                )
                for (method, k), group in sorted(groups.items())
            ),
        ),
    )


def todays_errors(night: NightData) -> tuple[TodaysError, ...]:
    """Expect the error and interval of an estimate made today, beside those of the last run."""
    if night.calibration is None:
        return ()
    full, calibration = night.full_runs, night.calibration
    last = {
        (check.method, check.k): check
        for check in night.checks
        if full and check.run_id == full[-1].run.run_id
    }
    found = []
    for name, k, mine in _replayed(night):
        scale = conformal_scale(calibration.residuals, method=name, k=k)
        width = scale.half_width(
            float(np.median([r.model_sd for r in mine])),
            level=night.view.level,
            pass_rate=float(np.mean([r.full_pass_rate for r in mine])),
            k=k,
            n=calibration.fitted.n_questions,
        )
        check = last.get((name, k))
        found.append(
            TodaysError(
                method=name,
                k=k,
                expected_error_pp=100.0 * float(np.mean([abs(r.error) for r in mine])),
                half_width_pp=100.0 * width.value,
                last_run_error_pp=None if check is None else check.error_pp,
                last_run_covered=None if check is None else check.covered,
            )
        )
    return tuple(found)


def hspr_sources(night: NightData) -> HsprSources:
    """Describe a calibration's sources and the latest estimates made from them."""
    calibration = night.calibration
    fitted = None if calibration is None else calibration.fitted.get(HSPR_SOURCES)
    if calibration is None or fitted is None:
        return HsprSources()
    model = fitted.model
    settings = calibration.info.settings
    # Nights before schema 6 kept them beside the settings.
    facts = settings.get("models", settings).get(HSPR_SOURCES.name) or {}
    estimated = sorted(
        _estimates(night, [scored.run for scored in night.runs], by_hspr=True),
        key=lambda e: (e.run.started_at, e.run.run_key),
    )
    return HsprSources(
        configuration=fitted.config.name,
        n_sources=len(model.source_ids),
        n_groups=model.n_groups,
        source_zero_share=model.source_zero_share,
        n_questions=calibration.fitted.n_questions,
        n_held_out=int(facts.get("held_out", 0)),
        selection_mae_pp=facts.get("mae_pp"),
        estimates=tuple(estimated[-ESTIMATES_SHOWN:]),
    )


def _replayed(night: NightData) -> list[tuple[str, int, list[ReplayResidual]]]:
    """Residuals of the calibration by shown method and k, smallest k first."""
    residuals = () if night.calibration is None else night.calibration.residuals
    groups = [
        (name, k, [r for r in residuals if (r.method, r.k) == (name, k)])
        for k in sorted({residual.k for residual in residuals})
        for name in METHODS_SHOWN
    ]
    return [group for group in groups if group[2]]


def _estimates(
    night: NightData, runs: Sequence[Run], *, by_hspr: bool = False
) -> list[EstimatedRun]:
    """Last estimate of each run, or its last one with HSPR's diagnostics."""
    known = {run.run_id: run for run in runs}
    latest = {
        record.run_id: EstimatedRun(run=known[record.run_id], k=record.k, estimate=record.estimate)
        for record in list_estimates(night.history, night.target.benchmark)
        if record.run_id in known and (record.estimate.diagnostics is not None or not by_hspr)
    }
    return list(latest.values())
