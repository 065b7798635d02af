"""The nightly job: cache window, models and subsets of every benchmark and family."""

from dataclasses import dataclass, field
from datetime import date
from typing import Final

from jobs.app import App
from jobs.console import debugging
from jobs.night import plan_night, run_night
from jobs.submit_results import estimate_partial_runs
from jobs.targets import Target, choose_targets
from recurring_eval.errors import FitError, InputError, NotEnoughDataError, RecurringEvalError
from storage.calibrations import calibration_on, latest_calibration
from storage.job_runs import JobStatus, finish_job, job_done, start_job

JOB: Final = "recalibrate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration:
    """What one night did for one benchmark and family.

    Attributes
    ----------
    benchmark, agent_family : str
    date : date
        UTC date the night is keyed by; its own runs count.
    status : str
        ``calibrated``, ``already done``, ``kept`` (the former calibration stays
        in force, `message` says why) or ``failed``.
    calibration_id : int or None
        Calibration in force afterwards.
    n_runs : int
        Full runs it was fitted on.
    message : str
    published : tuple of str
        Ids of newly published subsets.
    seconds : dict of str to float
        Wall time of each phase.
    """

    benchmark: str
    agent_family: str
    date: date
    status: str
    calibration_id: int | None
    n_runs: int = 0
    message: str = ""
    published: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)


def recalibrate(
    app: App,
    *,
    benchmark: str | None = None,
    family: str | None = None,
    as_of: date | None = None,
    window: str | None = None,
    force: bool = False,
    new_subsets: bool = False,
) -> list[Recalibration]:
    """Recalibrate every benchmark and family, each on its own.

    A night that is done already is left alone. One that cannot be fitted keeps
    the former calibration and says why; it stops no other.

    Parameters
    ----------
    app : App
    benchmark, family : str, optional
        Only these.
    as_of : date, optional
        Date of the night, by default today (UTC). Later runs are not looked at.
        A night before those that are done already leaves the published subsets
        alone; what it would have published is kept for checks of its time.
    window : str, optional
        In place of the configured calibration window.
    force : bool
        Refit a night that is done already.
    new_subsets : bool
        Draw and publish fresh subsets.

    Raises
    ------
    InputError
        If the date is to come, the window cannot be read, or the history has no
        such benchmark or family.
    """
    today = app.clock.now().date()
    day = today if as_of is None else as_of
    if day > today:
        raise InputError(f"{day} is to come; today is {today} (UTC), choose it or an earlier date")
    with app.open_history(read_only=True) as history:
        targets = choose_targets(history, benchmark=benchmark, family=family)
    results = []
    for target in targets:
        app.console.progress(f"recalibrating {target} for {day}")
        results.append(_one(app, target, day, window, force=force, new_subsets=new_subsets))
    return results


def _one(
    app: App, target: Target, day: date, window: str | None, *, force: bool, new_subsets: bool
) -> Recalibration:
    night = plan_night(app, target, day, window=window, new_subsets=new_subsets, supersede=force)
    if not force and (done := _already_done(app, target, day)) is not None:
        return done
    with app.open_history() as history, history.transaction():
        attempt = start_job(
            history,
            job=JOB,
            benchmark=target.benchmark,
            family=target.family,
            date=day,
            now=app.clock.now(),
        )
    try:
        result = run_night(app, night, attempt)
    except (NotEnoughDataError, FitError) as error:
        return _without_result(app, target, day, attempt, JobStatus.KEPT, str(error))
    except RecurringEvalError as error:
        return _without_result(app, target, day, attempt, JobStatus.FAILED, str(error))
    except BaseException as error:
        message = f"{type(error).__name__}: {error}"
        if debugging() or not isinstance(error, Exception):
            _close_attempt(app, attempt, JobStatus.FAILED, message)
            raise
        return _without_result(app, target, day, attempt, JobStatus.FAILED, message)
    message = result.message
    try:
        estimate_partial_runs(app, target)
    except Exception as error:
        # The night itself is stored; neither it nor the next benchmark suffers from this.
        if debugging():
            raise
        message = f"{message}; new partial runs were not estimated: {error}"
        app.console.note(message)
    return Recalibration(
        benchmark=target.benchmark,
        agent_family=target.family,
        date=day,
        status="calibrated",
        calibration_id=result.calibration_id,
        n_runs=result.n_runs,
        message=message,
        published=result.published,
        seconds=result.seconds,
    )


def _already_done(app: App, target: Target, day: date) -> Recalibration | None:
    with app.open_history(read_only=True) as history:
        if not job_done(
            history, job=JOB, benchmark=target.benchmark, family=target.family, date=day
        ):
            return None
        current = calibration_on(history, target.benchmark, target.family, day)
    return Recalibration(
        benchmark=target.benchmark,
        agent_family=target.family,
        date=day,
        status="already done",
        calibration_id=None if current is None else current.calibration_id,
        n_runs=0 if current is None else current.n_runs,
        message="use --force to refit",
    )


def _without_result(
    app: App, target: Target, day: date, attempt: int, status: JobStatus, message: str
) -> Recalibration:
    _close_attempt(app, attempt, status, message)
    with app.open_history(read_only=True) as history:
        former = latest_calibration(history, target.benchmark, target.family)
    return Recalibration(
        benchmark=target.benchmark,
        agent_family=target.family,
        date=day,
        status=status.value,
        calibration_id=None if former is None else former.calibration_id,
        n_runs=0 if former is None else former.n_runs,
        message=message,
    )


def _close_attempt(app: App, attempt: int, status: JobStatus, message: str) -> None:
    with app.open_history() as history, history.transaction():
        finish_job(history, attempt, status=status, message=message, now=app.clock.now())
