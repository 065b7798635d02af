"""What is in the history, how old the models are, and how the last jobs went."""

from dataclasses import dataclass
from datetime import datetime

from jobs.app.app import App
from jobs.app.targets import Target, choose_targets
from jobs.schedule.ledger import RECALIBRATE, JobKey, Ledger, read_ledger
from jobs.schedule.status import (
    NightOutlook,
    SchedulerStatus,
    describe_outlook,
    night_outlook,
    scheduler_status,
)
from recurring_eval.records import RunKind
from storage.calibrations.calibrations import list_calibrations
from storage.calibrations.subsets import published_subsets
from storage.file.history import History
from storage.runs.benchmarks import overview
from storage.runs.runs import list_runs


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
    """Report whether a scheduler is at work on this history."""
    with app.open_history(read_only=True) as history:
        return scheduler_status(history, app.settings, app.clock.now())


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
