"""Leases: who works on a job, and until when nobody else may."""

from collections.abc import Collection
from datetime import date as calendar_date
from datetime import datetime, timedelta
from typing import Final

from storage.errors import HistoryError
from storage.history import History
from storage.job_attempts import JobStatus, start_job
from storage.times import from_store, to_utc

ATTEMPT: Final = "job = ? AND benchmark = ? AND agent_family = ? AND job_date = ?"
LONGEST_LEASES: Final = 2
"""A lease that ends later than this many lease times from now comes from a clock ahead of ours."""


def take_lease(
    history: History,
    *,
    job: str,
    benchmark: str,
    family: str,
    date: calendar_date,
    owner: str,
    now: datetime,
    lease_for: timedelta,
    done: Collection[JobStatus] = (JobStatus.DONE,),
) -> int | None:
    """Start an attempt nobody else may make until its lease ends, inside a transaction.

    An attempt whose lease has ended is closed as failed and taken over.

    Parameters
    ----------
    history : History
    job, benchmark, family, date
        What the attempt is keyed by; an empty benchmark or family means all.
    owner : str
        Unique to the process or thread that works.
    now : datetime
        Aware.
    lease_for : timedelta
    done : collection of JobStatus
        Endings after which there is nothing left to do; none of them: do it again.

    Returns
    -------
    int or None
        The attempt's id; None if it is done already or another owner works on it.
    """
    key = [job, benchmark, family, date]
    rows = history.rows(
        f"SELECT job_run_id, status, owner, lease_expires_at FROM job_run WHERE {ATTEMPT}", key
    )
    if any(JobStatus(status) in done for _, status, _, _ in rows):
        return None
    for job_run_id, status, holder, expires_at in rows:
        if JobStatus(status) is not JobStatus.RUNNING:
            continue
        if holder not in (None, owner) and _is_valid(from_store(expires_at), now, lease_for):
            return None
        _close(history, job_run_id, now)
    attempt = start_job(history, job=job, benchmark=benchmark, family=family, date=date, now=now)
    history.execute(
        "UPDATE job_run SET owner = ?, lease_expires_at = ? WHERE job_run_id = ?",
        [owner, to_utc(now + lease_for, "`now`"), attempt],
    )
    return attempt


def renew_lease(
    history: History, job_run_id: int, *, owner: str, now: datetime, lease_for: timedelta
) -> None:
    """Keep an attempt for longer, inside a transaction.

    Raises
    ------
    HistoryError
        If the attempt has ended or belongs to somebody else by now.
    """
    require_lease(history, job_run_id, owner=owner)
    history.execute(
        "UPDATE job_run SET lease_expires_at = ? WHERE job_run_id = ?",
        [to_utc(now + lease_for, "`now`"), job_run_id],
    )


def require_lease(history: History, job_run_id: int, *, owner: str) -> None:
    """Make sure that an attempt is running and still `owner`'s.

    Call it in the transaction that stores the job's result: then a job that was
    taken over in the meantime stores nothing.

    Raises
    ------
    HistoryError
        If it is not.
    """
    rows = history.rows("SELECT status, owner FROM job_run WHERE job_run_id = ?", [job_run_id])
    if rows != [(JobStatus.RUNNING.value, owner)]:
        who = rows[0][1] if rows else None
        raise HistoryError(
            f"{owner} lost its lease of attempt {job_run_id}"
            f"{f' (owner {who}, {rows[0][0]})' if rows else ''}; its result is not stored"
        )


def due_retry(
    history: History,
    job: str,
    benchmark: str,
    family: str,
    date: calendar_date,
    *,
    now: datetime,
) -> bool:
    """Whether the last attempt failed and the time set for the next one has come."""
    rows = history.rows(
        f"SELECT status, retry_at FROM job_run WHERE {ATTEMPT} ORDER BY attempt DESC LIMIT 1",
        [job, benchmark, family, date],
    )
    if not rows or JobStatus(rows[0][0]) is not JobStatus.FAILED:
        return False
    retry_at = from_store(rows[0][1])
    return retry_at is not None and retry_at <= now


def expired_leases(history: History, *, now: datetime) -> list[tuple[str, str, str, calendar_date]]:
    """Job, benchmark, family and date of running attempts whose lease has ended."""
    return history.rows(
        "SELECT job, benchmark, agent_family, job_date FROM job_run WHERE status = 'running'"
        " AND (lease_expires_at IS NULL OR lease_expires_at <= ?)"
        " ORDER BY started_at, job_run_id",
        [to_utc(now, "`now`")],
    )


def _is_valid(expires_at: datetime | None, now: datetime, lease_for: timedelta) -> bool:
    if expires_at is None:
        return False
    return now < expires_at <= now + LONGEST_LEASES * lease_for


def _close(history: History, job_run_id: int, now: datetime) -> None:
    history.execute(
        "UPDATE job_run SET status = ?, message = ?, finished_at = greatest(?, started_at)"
        " WHERE job_run_id = ?",
        [JobStatus.FAILED.value, "lease expired", to_utc(now, "`now`"), job_run_id],
    )
