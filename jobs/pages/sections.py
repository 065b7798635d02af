"""Sections of a nightly report page, each from the history."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import numpy as np

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView, RunScore
from jobs.app.targets import Target
from recurring_eval.records import Run, RunKind
from reports.context import (
    CacheDay,
    CacheWindow,
    DataHealth,
    ErrorPoint,
    HistoryPoint,
    JobRow,
    LastFullRun,
    MissingReason,
    OpenAlert,
    PartialEstimate,
    SubsetSummary,
)
from storage.calibrations.caches import load_cache
from storage.calibrations.calibrations import StoredCalibration
from storage.calibrations.estimates import FullRunCheck, list_estimates
from storage.calibrations.subsets import list_subsets
from storage.file.history import History
from storage.ledger import JobStatus, list_alerts, list_job_runs
from storage.runs.verdicts import load_reasons

CACHE_DAYS_SHOWN = 28
JOBS_SHOWN = 40


def last_full_run(runs: Sequence[Run], scores: Mapping[int, RunScore]) -> LastFullRun | None:
    """Newest full run with enough valid verdicts."""
    full = [run for run in runs if run.kind is RunKind.FULL and not run.under_covered]
    if not full:
        return None
    run = full[-1]
    score = scores[run.run_id]
    return LastFullRun(
        run_key=run.run_key,
        agent=run.agent,
        started_at=run.started_at,
        pass_rate=score.pass_rate,
        n_valid=score.n_valid,
        n_questions=run.bank_size,
        previous_pass_rate=scores[full[-2].run_id].pass_rate if len(full) > 1 else None,
    )


def history_points(runs: Sequence[Run], scores: Mapping[int, RunScore]) -> tuple[HistoryPoint, ...]:
    """Every run with its observed pass rate."""
    return tuple(
        HistoryPoint(
            run_key=run.run_key,
            agent=run.agent,
            started_at=run.started_at,
            kind=run.kind,
            purpose=run.purpose,
            pass_rate=None if np.isnan(score.pass_rate) else score.pass_rate,
            n_valid=score.n_valid,
            under_covered=run.under_covered,
        )
        for run, score in ((run, scores[run.run_id]) for run in runs)
    )


def partial_estimates(
    history: History, target: Target, runs: Sequence[Run]
) -> tuple[PartialEstimate, ...]:
    """Last estimate of every run that was not asked all questions."""
    partial = {run.run_id: run for run in runs if run.kind is not RunKind.FULL}
    latest = {
        record.run_id: record
        for record in list_estimates(history, target.benchmark)
        if record.run_id in partial
    }
    return tuple(
        PartialEstimate(
            run_key=record.run_key,
            at=partial[record.run_id].started_at,
            estimate=record.estimate.pass_rate,
            low=record.estimate.low,
            high=record.estimate.high,
            method=record.estimate.method,
            k=record.k,
            level=record.estimate.level,
        )
        for record in latest.values()
    )


def check_points(checks: Sequence[FullRunCheck]) -> tuple[ErrorPoint, ...]:
    """Accuracy over the checked full runs, by method and k."""
    groups: dict[tuple[str, int], list[FullRunCheck]] = {}
    for check in checks:
        groups.setdefault((check.method, check.k), []).append(check)
    return tuple(
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
    )


def cache_window(
    view: BenchmarkView, history: History, target: Target, day: date
) -> tuple[CacheWindow | None, float | None]:
    """State of the cache day by day, and the share of questions it settles now."""
    rule = view.settings.cache
    days = []
    for back in range(CACHE_DAYS_SHOWN, -2, -1):
        on = day - timedelta(days=back)
        cache = load_cache(history, target.benchmark, target.family, on)
        if cache is None:
            continue
        settled_pass = int((cache.cached & (2 * cache.passes >= cache.n_trials)).sum())
        settled = int(cache.cached.sum())
        too_few = int((cache.n_trials < cache.min_trials).sum())
        days.append(
            CacheDay(
                day=on,
                share_cached=float(cache.cached.mean()),
                n_settled_pass=settled_pass,
                n_settled_fail=settled - settled_pass,
                n_unsettled=len(cache.question_ids) - settled - too_few,
                n_too_few=too_few,
            )
        )
    if not days:
        return None, None
    window = CacheWindow(
        n_days=rule.days, min_trials=rule.min_trials, epsilon=rule.epsilon, days=tuple(days)
    )
    return window, days[-1].share_cached


def data_health(
    app: App,
    view: BenchmarkView,
    history: History,
    runs: Sequence[Run],
    scores: Mapping[int, RunScore],
    calibration: StoredCalibration | None,
) -> DataHealth:
    """State of the calibration window's data and of the model."""
    if calibration is None:
        window = list(runs)
    else:
        used = set(calibration.fitted.rasch.run_ids)
        since = min((run.started_at for run in runs if run.run_key in used), default=None)
        window = [run for run in runs if since is not None and run.started_at >= since]
    full = [run for run in window if run.kind is RunKind.FULL]
    good = [run for run in full if not run.under_covered]
    reasons: Counter[str] = Counter()
    for counts in load_reasons(history, full).values():
        for reason, count in counts.items():
            reasons[reason.partition(":")[0]] += count
    expected = sum(run.bank_size for run in full)
    n_valid = sum(scores[run.run_id].n_valid for run in full)
    age = None if calibration is None else app.clock.now() - calibration.info.created_at
    return DataHealth(
        n_full_runs=len(good),
        n_under_covered=len(full) - len(good),
        n_partial_runs=len(window) - len(full),
        valid_share=n_valid / expected if expected else None,
        missing=tuple(
            MissingReason(
                reason=reason,
                share=min(1.0, count / expected),
                n_verdicts=count,
                counts_as_fail=view.is_fail(reason),
            )
            for reason, count in reasons.most_common()
        ),
        model_age_hours=None if age is None else max(0.0, age.total_seconds() / 3600.0),
        converged=None if calibration is None else calibration.fitted.rasch.converged,
        n_iterations=None if calibration is None else calibration.fitted.rasch.n_iterations,
        data_from=window[0].started_at if window else None,
        data_until=None if calibration is None else calibration.info.data_end,
    )


def subset_summaries(
    history: History, target: Target, *, before: datetime
) -> tuple[SubsetSummary, ...]:
    """List the published subsets in force, with the share kept from the version before."""
    former: dict[tuple[str, int], set[str]] = {}
    found = []
    for record in list_subsets(history, target.benchmark, target.family):
        key = (record.subset.design, record.subset.k)
        questions = set(record.subset.question_ids)
        kept = len(questions & former[key]) / len(questions) if key in former else None
        former[key] = questions
        if record.active and record.published_at <= before:
            found.append(
                SubsetSummary(
                    subset_id=record.subset_id,
                    design=record.subset.design,
                    k=record.subset.k,
                    published_at=record.published_at,
                    sha256=record.subset.sha256,
                    kept_share=kept,
                )
            )
    return tuple(sorted(found, key=lambda summary: (summary.design, summary.k)))


def job_rows(history: History, target: Target, *, before: datetime) -> tuple[JobRow, ...]:
    """Last lines of the job ledger, newest first."""
    return tuple(
        JobRow(
            job=run.job,
            day=run.date,
            status="succeeded" if run.status is JobStatus.DONE else run.status.value,
            started_at=run.started_at,
            seconds=None
            if run.finished_at is None
            else (run.finished_at - run.started_at).total_seconds(),
            message=run.message,
        )
        for run in list_job_runs(history, benchmark=target.benchmark, limit=JOBS_SHOWN)
        if run.agent_family == target.family and run.started_at <= before
    )


def open_alerts(history: History, target: Target) -> tuple[OpenAlert, ...]:
    """Alerts nobody has resolved."""
    return tuple(
        OpenAlert(rule=alert.rule, opened_at=alert.opened_at, message=alert.message)
        for alert in list_alerts(history, target.benchmark)
        if alert.agent_family == target.family
    )
