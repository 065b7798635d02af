"""Attempts of jobs: how one starts and how it ends."""

from datetime import date as calendar_date
from datetime import datetime
from enum import StrEnum

from recurring_eval.errors import InputError
from storage.errors import HistoryError
from storage.history import History
from storage.times import to_utc


class JobStatus(StrEnum):
    """How an attempt of a job ended."""

    RUNNING = "running"
    DONE = "done"
    KEPT = "kept"
    """Ended in good order without a new result; the former one stays."""
    FAILED = "failed"


def start_job(
    history: History,
    *,
    job: str,
    benchmark: str,
    family: str,
    date: calendar_date,
    now: datetime,
) -> int:
    """Note that an attempt has started and return its id."""
    job_run_id = history.next_id("job_run")
    ((attempts,),) = history.rows(
        "SELECT count(*) FROM job_run"
        " WHERE job = ? AND benchmark = ? AND agent_family = ? AND job_date = ?",
        [job, benchmark, family, date],
    )
    history.insert_row(
        "job_run",
        job_run_id=job_run_id,
        job=job,
        benchmark=benchmark,
        agent_family=family,
        job_date=date,
        attempt=attempts + 1,
        started_at=to_utc(now, "`now`"),
        status=JobStatus.RUNNING.value,
        message="",
    )
    return job_run_id


def finish_job(
    history: History,
    job_run_id: int,
    *,
    status: JobStatus,
    message: str,
    now: datetime,
    owner: str | None = None,
    retry_at: datetime | None = None,
) -> None:
    """Note how an attempt ended.

    Parameters
    ----------
    history : History
    job_run_id : int
    status : JobStatus
    message : str
    now : datetime
        Aware.
    owner : str, optional
        Refuse if somebody else holds the attempt's lease.
    retry_at : datetime, optional
        When to try again after a failure.

    Raises
    ------
    InputError
        If there is no such attempt or it has ended already.
    HistoryError
        If the attempt was taken over by another owner.
    """
    running = history.rows(
        "SELECT owner FROM job_run WHERE job_run_id = ? AND finished_at IS NULL", [job_run_id]
    )
    if owner is not None and running != [(owner,)]:
        raise HistoryError(
            f"{owner} lost its lease of attempt {job_run_id}; its result is not stored"
        )
    if not running:
        raise InputError(f"the ledger has no running attempt {job_run_id}")
    history.execute(
        "UPDATE job_run SET status = ?, message = ?, finished_at = ?, retry_at = ?,"
        " lease_expires_at = NULL WHERE job_run_id = ?",
        [
            status.value,
            message,
            to_utc(now, "`now`"),
            to_utc(retry_at, "`retry_at`"),
            job_run_id,
        ],
    )
