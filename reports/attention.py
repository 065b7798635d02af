"""Points on a nightly page that need attention, the worst first."""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.headline import DataHealth, Headline
from reports.listings import JobLedger
from reports.nightly_page import NightlyPage
from reports.wording import age, counted, moment, percent, signed_points

STALE_AFTER_HOURS = 36
LOW_VALID_SHARE = 0.9
MOST_UNDER_COVERED = 0.1
RARE_MISSES = 0.9
"""Level of intervals from which on a single miss of the leading estimate is remarkable."""
MISSES_BEYOND = 0.4
"""Share of misses above the nominal one that is remarkable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPoint:
    """One thing to look at and the section that shows it.

    Attributes
    ----------
    serious : bool
        Whether tonight's figures cannot be relied on as they are.
    text : str
    section : str
        Anchor of the place on the page; empty when the text says it all.
    """

    serious: bool
    text: str
    section: str = ""


def attention_points(page: NightlyPage) -> tuple[AttentionPoint, ...]:
    """Everything on `page` that asks for attention, serious points first."""
    found = [
        *_alert_points(page),
        *_job_points(page),
        *_model_points(page.headline.health),
        *_estimate_points(page.headline, page.interval_level),
        *_data_points(page.headline.health),
    ]
    return tuple(sorted(found, key=lambda point: not point.serious))


def _alert_points(page: NightlyPage) -> Iterator[AttentionPoint]:
    for alert in page.open_alerts:
        yield AttentionPoint(
            serious=True,
            text=f"Open alert since {moment(alert.opened_at)}, {alert.rule}: {alert.message}",
        )


def _job_points(page: NightlyPage) -> Iterator[AttentionPoint]:
    rows = [row for part in page.sections if isinstance(part, JobLedger) for row in part.jobs]
    newest = {row.job: row for row in sorted(rows, key=lambda row: (row.started_at, row.job))}
    for row in newest.values():
        if row.status == "failed":
            why = f": {row.message}" if row.message else "."
            yield AttentionPoint(
                serious=True, text=f"The last {row.job} job failed{why}", section="jobs"
            )


def _model_points(health: DataHealth) -> Iterator[AttentionPoint]:
    if health.converged is None:
        yield AttentionPoint(
            serious=True,
            text="There is no calibration yet, so no subset and no estimate can be made.",
            section="health",
        )
    elif not health.converged:
        yield AttentionPoint(
            serious=True, text="The last model fit did not converge.", section="health"
        )
    if health.model_age_hours is not None and health.model_age_hours > STALE_AFTER_HOURS:
        yield AttentionPoint(
            serious=True,
            text=f"The calibration in use is {age(health.model_age_hours)} old "
            f"(expected: at most {STALE_AFTER_HOURS} h).",
            section="health",
        )


def _estimate_points(headline: Headline, level: float) -> Iterator[AttentionPoint]:
    """Flag more misses of intervals than their level allows for.

    One in ten misses by design at a level of 90 %. There, or above, a miss of the leading
    estimate counts by itself; otherwise the share of misses must be well beyond the nominal one.
    """
    judged = [error for error in headline.errors if error.last_run_covered is not None]
    outside = [error for error in judged if not error.last_run_covered]
    leads = bool(outside) and outside[0] is headline.errors[0] and level >= RARE_MISSES
    many = len(outside) >= max(0.5, 1.0 - level + MISSES_BEYOND) * len(judged)
    if outside and (leads or many):
        worst = outside[0]
        yield AttentionPoint(
            serious=False,
            text=f"On the last full run {len(outside)} of {counted(len(judged), 'estimate')} fell "
            f"outside the interval ({worst.method} at k {worst.k}: "
            f"{signed_points(worst.last_run_error_pp)}).",
            section="error",
        )
    if headline.last_full_run is None:
        yield AttentionPoint(
            serious=False, text="No full run has been imported yet.", section="history"
        )


def _data_points(health: DataHealth) -> Iterator[AttentionPoint]:
    if health.valid_share is not None and health.valid_share < LOW_VALID_SHARE:
        yield AttentionPoint(
            serious=False,
            text=f"Only {percent(health.valid_share)} of the expected verdicts are valid.",
            section="health",
        )
    n_runs = health.n_full_runs + health.n_under_covered
    if health.n_under_covered > MOST_UNDER_COVERED * n_runs:
        yield AttentionPoint(
            serious=False,
            text=f"{health.n_under_covered} of {counted(n_runs, 'full run')} left out of the "
            "calibration: too few valid verdicts.",
            section="health",
        )
