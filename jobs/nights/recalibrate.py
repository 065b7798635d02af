"""The nightly job: cache window, models and subsets of every benchmark and family."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from jobs.app.app import App
from jobs.app.targets import Target, choose_targets
from jobs.estimating.run_estimates import estimate_partial_runs
from jobs.nights.night import Night, NightResult, plan_night, run_night
from jobs.schedule.due import slot_of
from jobs.schedule.ledger import (
    RECALIBRATE,
    JobKey,
    attempt_job,
    failure_message,
    this_process,
)
from recurring_eval.errors import InputError
from storage.calibrations.calibrations import (
    CalibrationInfo,
    calibration_on,
    latest_calibration,
)
from storage.file.errors import HistoryError
from storage.ledger import JobStatus, list_job_runs


class NightFunction(Protocol):
    """Does one night and ends its attempt in the transaction that stores the result."""

    def __call__(self, app: App, night: Night, attempt: int, *, owner: str) -> NightResult:
        """Return what was stored."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration:
    """What one night did for one benchmark and family.

    Attributes
    ----------
    benchmark, agent_family : str
    date : date
        Date the night is keyed by; runs up to the end of it (UTC) count.
    status : str
        ``calibrated``, ``already done``, ``kept`` (the previous calibration stays
        in use, `message` says why), ``running`` (elsewhere) or ``failed``.
    calibration_id : int or None
        Calibration in use afterwards.
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
    the previous calibration and says why. No failure of one stops another.

    Parameters
    ----------
    app : App
    benchmark, family : str, optional
        Only these.
    as_of : date, optional
        Date of the night, by default today in the zone of the benchmark's
        slot (UTC unless configured). Later runs are left out.
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
        If the date is in the future, the window cannot be read, or the history has no
        such benchmark or family.
    """
    with app.open_history(read_only=True) as history:
        targets = choose_targets(history, benchmark=benchmark, family=family)
    owner, now = this_process(RECALIBRATE), app.clock.now()
    nights = []
    for target in targets:
        slot = slot_of(app.settings.nights_of(target.benchmark))
        today = slot.local_date(now)
        day = today if as_of is None else as_of
        if day > today:
            raise InputError(
                f"{day} is in the future; today is {today} ({slot.zone}), "
                "choose it or an earlier date"
            )
        nights.append(
            plan_night(app, target, day, window=window, new_subsets=new_subsets, supersede=force)
        )
    done = () if force else (JobStatus.DONE,)
    results = []
    for night in nights:
        app.console.progress(f"recalibrating {night.target} for {night.day}")
        results.append(recalibrate_night(app, night, owner=owner, done=done))
    return results


def recalibrate_night(
    app: App,
    night: Night,
    *,
    owner: str,
    done: Collection[JobStatus],
    run: NightFunction | None = None,
) -> Recalibration:
    """Do one night of one benchmark and family under a lease, and contain its failure.

    Parameters
    ----------
    app : App
    night : Night
    owner : str
        Who holds the lease.
    done : collection of JobStatus
        Endings after which the night is left alone.
    run : callable, optional
        In place of `jobs.nights.night.run_night`.
    """
    stored: list[NightResult] = []

    def work(attempt: int) -> str:
        stored.append((run or run_night)(app, night, attempt, owner=owner))
        return stored[0].message

    key = JobKey(job=RECALIBRATE, target=night.target)
    try:
        ended = attempt_job(app, key, night.day, work, owner=owner, done=done, notes_its_end=True)
        if ended is None:
            return _left_alone(app, night, done)
    except Exception as error:
        ended = JobStatus.FAILED, failure_message(error)
    if not stored:
        return _without_result(app, night, *ended)
    return Recalibration(
        benchmark=night.target.benchmark,
        agent_family=night.target.family,
        date=night.day,
        status="calibrated",
        calibration_id=stored[0].calibration_id,
        n_runs=stored[0].n_runs,
        message=_with_estimates(app, night.target, stored[0].message),
        published=stored[0].published,
        seconds=stored[0].seconds,
    )


def _with_estimates(app: App, target: Target, message: str) -> str:
    # The calibration is stored by now: a failure here is reported, and made up for next night.
    try:
        estimate_partial_runs(app, target)
    except Exception as error:
        message = f"{message}; new partial runs were not estimated: {failure_message(error)}"
        app.console.note(message)
    return message


def _left_alone(app: App, night: Night, done: Collection[JobStatus]) -> Recalibration:
    target = night.target
    with app.open_history(read_only=True) as history:
        attempts = [
            run
            for run in list_job_runs(history, benchmark=target.benchmark, job=RECALIBRATE)
            if run.agent_family == target.family and run.date == night.day
        ]
        current = calibration_on(history, target.benchmark, target.family, night.day)
    if any(run.status in done for run in attempts):
        return _unchanged(night, current, status="already done", message="use --force to refit")
    holders = [run.owner for run in attempts if run.status is JobStatus.RUNNING]
    who = holders[0] if holders else "another process"
    return _unchanged(night, current, status="running", message=f"{who} works on it")


def _without_result(app: App, night: Night, status: JobStatus, message: str) -> Recalibration:
    target, previous = night.target, None
    try:
        with app.open_history(read_only=True) as history:
            previous = latest_calibration(history, target.benchmark, target.family)
    except (HistoryError, OSError) as error:
        status = JobStatus.FAILED
        if str(error) not in message:
            message = f"{message}; {failure_message(error)}"
    return _unchanged(night, previous, status=status.value, message=message)


def _unchanged(
    night: Night, current: CalibrationInfo | None, *, status: str, message: str
) -> Recalibration:
    return Recalibration(
        benchmark=night.target.benchmark,
        agent_family=night.target.family,
        date=night.day,
        status=status,
        calibration_id=None if current is None else current.calibration_id,
        n_runs=0 if current is None else current.n_runs,
        message=message,
    )
