"""What is in the history, how old the models are, how the last jobs went, and what is planned.

What is planned, due, given up or overdue follows from the ledger and the configuration alone.
No daemon needs to run for it: a schedule that nobody keeps shows as overdue.
"""

from dataclasses import dataclass
from datetime import datetime

from jobs.app.app import App
from jobs.app.config import Settings
from jobs.app.targets import Target, choose_targets
from jobs.schedule.due import NightState, forgone_nights, scheduled_nights, slot_of
from jobs.schedule.full_runs import FullRunState, next_full_run
from jobs.schedule.ledger import HEARTBEAT, RECALIBRATE, JobKey, Ledger, read_ledger
from jobs.schedule.no_recalibration import no_recalibration
from recurring_eval.records import RunKind
from storage.calibrations.calibrations import list_calibrations
from storage.calibrations.subsets import published_subsets
from storage.file.history import History
from storage.ledger import last_beat
from storage.runs.benchmarks import overview
from storage.runs.runs import list_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class NightOutlook:
    """Nights and full runs of one benchmark and family.

    Attributes
    ----------
    next_night_at : datetime or None
        Next slot; None when its nights are not scheduled.
    due : tuple of str
        Dates of the nights that may start now, oldest first.
    running : tuple of str
    retry_at : datetime or None
        Next attempt of a night that failed.
    failures : int
        Of that night.
    given_up : tuple of str
        Dates of nights that failed too often.
    n_forgone : int
        Missed nights too far back to be made up for.
    alert : str or None
        That there was no recalibration for too long.
    full_run_due_at : datetime or None
        None when no cadence is planned.
    full_run_state : FullRunState or None
    """

    next_night_at: datetime | None
    due: tuple[str, ...]
    running: tuple[str, ...]
    retry_at: datetime | None
    failures: int
    given_up: tuple[str, ...]
    n_forgone: int
    alert: str | None
    full_run_due_at: datetime | None
    full_run_state: FullRunState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStatus:
    """Whether a scheduler is at work.

    Attributes
    ----------
    last_heartbeat : datetime or None
        None if there was never one.
    alive : bool
        Whether the last sign of life is recent.
    """

    last_heartbeat: datetime | None
    alive: bool


def night_outlook(
    settings: Settings,
    ledger: Ledger,
    target: Target,
    *,
    last_full_run_at: datetime | None,
    now: datetime,
) -> NightOutlook:
    """Find what is planned and what is late for one benchmark and family."""
    nights = settings.nights_of(target.benchmark)
    attempts = ledger.get(JobKey(job=RECALIBRATE, target=target), [])
    expected = []
    if nights.enabled:
        expected = scheduled_nights(attempts, nights, now, lease=settings.schedule.lease)
    dates = {
        state: tuple(str(night.date) for night in expected if night.state is state)
        for state in NightState
    }
    waiting = [night for night in expected if night.state is NightState.WAITING]
    next_try = min(waiting, key=lambda night: night.ready_at, default=None)
    full_run = None
    if nights.full_run_every is not None and last_full_run_at is not None:
        full_run = next_full_run(last_full_run_at, nights.full_run_every, now)
    return NightOutlook(
        next_night_at=slot_of(nights).next_start(now) if nights.enabled else None,
        due=dates[NightState.DUE],
        running=dates[NightState.RUNNING],
        retry_at=None if next_try is None else next_try.ready_at,
        failures=0 if next_try is None else next_try.failures,
        given_up=dates[NightState.GIVEN_UP],
        n_forgone=len(forgone_nights(attempts, nights, now)) if nights.enabled else 0,
        alert=no_recalibration(attempts, now, settings.schedule.alert_after),
        full_run_due_at=None if full_run is None else full_run.due_at,
        full_run_state=None if full_run is None else full_run.state,
    )


def describe_outlook(outlook: NightOutlook) -> list[str]:
    """Lines for people; what calls for action comes first."""
    lines = []
    if outlook.alert is not None:
        lines.append(f"  ALERT: {outlook.alert}")
    if outlook.due:
        more = f" to {outlook.due[-1]}, {len(outlook.due)} nights" if len(outlook.due) > 1 else ""
        lines.append(
            f"  overdue: {outlook.due[0]}{more}; "
            "a running `recurring-eval schedule` makes up for it"
        )
    if outlook.given_up:
        lines.append(
            f"  given up after too many failures: {', '.join(outlook.given_up)}; "
            "`recurring-eval recalibrate --as-of DATE` tries again"
        )
    if outlook.n_forgone:
        lines.append(f"  {outlook.n_forgone} nights missed too long ago to be made up for")
    if outlook.next_night_at is not None:
        parts = [f"next night {outlook.next_night_at:%Y-%m-%d %H:%M} UTC"]
        if outlook.running:
            parts.append(f"at work on {', '.join(outlook.running)}")
        if outlook.retry_at is not None:
            times = "failure" if outlook.failures == 1 else "failures"
            parts.append(
                f"next attempt {outlook.retry_at:%Y-%m-%d %H:%M} UTC "
                f"after {outlook.failures} {times}"
            )
        lines.append(f"  {'; '.join(parts)}")
    if outlook.full_run_due_at is not None and outlook.full_run_state is not None:
        lines.append(
            f"  full run {outlook.full_run_state.value}: "
            f"{outlook.full_run_due_at:%Y-%m-%d %H:%M} UTC"
        )
    return lines


def describe_scheduler(status: SchedulerStatus, now: datetime) -> str:
    """Line for people: whether a scheduler is at work."""
    if status.last_heartbeat is None:
        return "scheduler: no sign of life yet; start one with `recurring-eval schedule`"
    minutes = max(0.0, (now - status.last_heartbeat).total_seconds() / 60)
    ago = f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
    state = "at work" if status.alive else "not at work"
    return (
        f"scheduler: {state}, last sign of life {status.last_heartbeat:%Y-%m-%d %H:%M} UTC, "
        f"{ago} ago"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatus:
    """State of one benchmark and family.

    Attributes
    ----------
    n_questions, n_runs, n_full_runs, n_under_covered : int
    last_full_run : str or None
    last_full_run_at : datetime or None
    last_pass_rate : float or None
        Of the last full run with enough valid verdicts, under the benchmark's rule for missing
        ones.
    calibration_id : int or None
    calibration_date : str or None
    calibration_runs : int
    model_age_hours : float or None
    subset_sizes : tuple of int
        Published subsets.
    last_job : str or None
        Status of the last nightly job, with its message.
    schedule : NightOutlook
        What is planned and what is late.
    """

    benchmark: str
    agent_family: str
    n_questions: int
    n_runs: int
    n_full_runs: int
    n_under_covered: int
    last_full_run: str | None
    last_full_run_at: datetime | None
    last_pass_rate: float | None
    calibration_id: int | None
    calibration_date: str | None
    calibration_runs: int
    model_age_hours: float | None
    subset_sizes: tuple[int, ...]
    last_job: str | None
    schedule: NightOutlook


def show_status(
    app: App, *, benchmark: str | None = None, family: str | None = None
) -> list[TargetStatus]:
    """Describe every benchmark and family with runs, or those named.

    The list is empty for an empty history.
    """
    with app.open_history(read_only=True) as history:
        sizes = {entry.benchmark: entry.n_questions for entry in overview(history)}
        if not any(entry.n_runs for entry in overview(history)) and benchmark is None:
            return []
        ledger = read_ledger(history)
        return [
            _status(app, history, target, sizes[target.benchmark], ledger)
            for target in choose_targets(history, benchmark=benchmark, family=family)
        ]


def scheduler_state(app: App) -> SchedulerStatus:
    """Find when a scheduler last gave a sign of life on this history."""
    with app.open_history(read_only=True) as history:
        last = last_beat(history, HEARTBEAT)
    schedule = app.settings.schedule
    recent = 3 * max(schedule.heartbeat_every, schedule.check_every)
    alive = last is not None and app.clock.now() - last < recent
    return SchedulerStatus(last_heartbeat=last, alive=alive)


def _status(
    app: App, history: History, target: Target, n_questions: int, ledger: Ledger
) -> TargetStatus:
    runs = list_runs(history, target.benchmark, family=target.family)
    full = [run for run in runs if run.kind is RunKind.FULL]
    good = [run for run in full if not run.under_covered]
    calibrations = list_calibrations(history, target.benchmark, target.family)
    current = calibrations[-1] if calibrations else None
    key = JobKey(job=RECALIBRATE, target=target)
    nights = ledger.get(key, [])
    last = app.view(target.benchmark).scored(history, good[-1:])
    return TargetStatus(
        benchmark=target.benchmark,
        agent_family=target.family,
        n_questions=n_questions,
        n_runs=len(runs),
        n_full_runs=len(full),
        n_under_covered=len(full) - len(good),
        last_full_run=good[-1].run_key if good else None,
        last_full_run_at=good[-1].started_at if good else None,
        last_pass_rate=last[0].pass_rate if last else None,
        calibration_id=None if current is None else current.calibration_id,
        calibration_date=None if current is None else current.date.isoformat(),
        calibration_runs=0 if current is None else current.n_runs,
        model_age_hours=None
        if current is None
        else max(0.0, (app.clock.now() - current.created_at).total_seconds() / 3600.0),
        subset_sizes=tuple(
            record.subset.k
            for record in published_subsets(history, target.benchmark, target.family)
        ),
        last_job=f"{nights[0].date} {nights[0].status.value}: {nights[0].message}"
        if nights
        else None,
        schedule=night_outlook(
            app.settings,
            ledger,
            target,
            last_full_run_at=good[-1].started_at if good else None,
            now=app.clock.now(),
        ),
    )


def describe_status(states: list[TargetStatus]) -> list[str]:
    """Describe the states in a few lines per benchmark."""
    if not states:
        return ["The history is empty. Next: recurring-eval import FILE_OR_FOLDER --benchmark NAME"]
    lines = []
    for state in states:
        kept_out = f", {state.n_under_covered} under-covered" if state.n_under_covered else ""
        lines.append(
            f"{state.benchmark} ({state.agent_family}): {state.n_questions} questions, "
            f"{state.n_runs} runs, {state.n_full_runs} full{kept_out}"
        )
        if state.last_full_run is not None and state.last_pass_rate is not None:
            lines.append(
                f"  last full run {state.last_full_run}, {state.last_full_run_at:%Y-%m-%d %H:%M} "
                f"UTC: {100 * state.last_pass_rate:.1f} %"
            )
        if state.calibration_id is None or state.model_age_hours is None:
            lines.append("  not calibrated yet; run `recurring-eval recalibrate`")
        else:
            sizes = ", ".join(str(k) for k in state.subset_sizes) or "none"
            lines.append(
                f"  calibration {state.calibration_id} for {state.calibration_date} on "
                f"{state.calibration_runs} runs, made {state.model_age_hours:.0f} h ago; "
                f"subsets: {sizes}"
            )
        if state.last_job is not None:
            lines.append(f"  last nightly job {state.last_job}")
        lines += describe_outlook(state.schedule)
    return lines
