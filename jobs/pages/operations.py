"""Operations on a nightly page: health of data and model, subsets in use, jobs, alerts."""

from collections import Counter
from typing import Final

from jobs.pages.night_data import NightData
from recurring_eval.records import RunKind
from reports.headline import DataHealth, MissingReason
from reports.listings import JobLedger, JobRow, PublishedSubsets, SubsetSummary
from reports.nightly_page import OpenAlert
from storage.calibrations.subsets import list_subsets
from storage.ledger import JobStatus, list_alerts, list_job_runs
from storage.runs.verdicts import load_reasons

JOBS_SHOWN: Final = 40


def data_health(night: NightData) -> DataHealth:
    """State of the calibration window's data and of the model."""
    calibration, window = night.calibration, list(night.runs)
    if calibration is not None:
        used = set(calibration.fitted.rasch.run_ids)
        since = min((s.run.started_at for s in window if s.run.run_key in used), default=None)
        window = [s for s in window if since is not None and s.run.started_at >= since]
    full = [scored for scored in window if scored.run.kind is RunKind.FULL]
    n_under_covered = sum(scored.run.under_covered for scored in full)
    reasons: Counter[str] = Counter()
    for counts in load_reasons(night.history, [scored.run for scored in full]).values():
        for reason, count in counts.items():
            reasons[reason.partition(":")[0]] += count
    expected = sum(scored.run.bank_size for scored in full)
    n_valid = sum(scored.n_valid for scored in full)
    age = None if calibration is None else night.app.clock.now() - calibration.info.created_at
    return DataHealth(
        n_full_runs=len(full) - n_under_covered,
        n_under_covered=n_under_covered,
        n_partial_runs=len(window) - len(full),
        valid_share=n_valid / expected if expected else None,
        missing=tuple(
            MissingReason(
                reason=reason,
                share=min(1.0, count / expected),
                n_verdicts=count,
                counts_as_fail=night.view.is_fail(reason),
            )
            for reason, count in reasons.most_common()
        ),
        model_age_hours=None if age is None else max(0.0, age.total_seconds() / 3600.0),
        converged=None if calibration is None else calibration.fitted.rasch.converged,
        n_iterations=None if calibration is None else calibration.fitted.rasch.n_iterations,
        data_from=window[0].run.started_at if window else None,
        data_until=None if calibration is None else calibration.info.data_end,
    )


def subsets_in_use(night: NightData) -> PublishedSubsets:
    """List the published subsets in use, with the share kept from the version before."""
    previous: dict[tuple[str, int], set[str]] = {}
    found: list[SubsetSummary] = []
    for record in list_subsets(night.history, *night.target.key):
        key = (record.subset.design, record.subset.k)
        questions = set(record.subset.question_ids)
        kept = len(questions & previous[key]) / len(questions) if key in previous else None
        previous[key] = questions
        if record.active and record.published_at <= night.app.clock.now():
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
    return PublishedSubsets(subsets=tuple(found))


def job_ledger(night: NightData) -> JobLedger:
    """Read the last lines of the job ledger."""
    found = list_job_runs(night.history, benchmark=night.target.benchmark, limit=JOBS_SHOWN)
    now = night.app.clock.now()
    return JobLedger(
        jobs=tuple(
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
            for run in found
            if run.agent_family == night.target.family and run.started_at <= now
        )
    )


def open_alerts(night: NightData) -> tuple[OpenAlert, ...]:
    """List the alerts nobody has resolved."""
    return tuple(
        OpenAlert(rule=alert.rule, opened_at=alert.opened_at, message=alert.message)
        for alert in list_alerts(night.history, night.target.benchmark)
        if alert.agent_family == night.target.family
    )
