"""Signs of life of processes that run for long."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date as calendar_date
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from recurring_eval.errors import InputError
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.times import from_store, to_utc


def beat(history: History, process: str, *, now: datetime) -> None:
    """Note that a process lives, inside the caller's transaction."""
    moment = to_utc(now, "`now`")
    if last_beat(history, process) is None:
        history.insert_row("heartbeat", process=process, beat_at=moment)
    else:
        history.execute("UPDATE heartbeat SET beat_at = ? WHERE process = ?", [moment, process])


def last_beat(history: History, process: str) -> datetime | None:
    """Last sign of life of a process, None if it never gave one."""
    rows = history.rows("SELECT max(beat_at) FROM heartbeat WHERE process = ?", [process])
    moment: datetime | None = from_store(rows[0][0])
    return moment


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


ATTEMPT: Final = "job = ? AND benchmark = ? AND agent_family = ? AND job_date = ?"
LEASE_EXPIRED: Final = "lease expired"
"""Message of an attempt that was taken over by another process."""
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
        if holder not in (None, owner) and lease_holds(from_store(expires_at), now, lease_for):
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


def lease_holds(expires_at: datetime | None, now: datetime, lease_for: timedelta) -> bool:
    """Whether a lease of that length keeps others out at `now`."""
    if expires_at is None:
        return False
    return now < expires_at <= now + LONGEST_LEASES * lease_for


def _close(history: History, job_run_id: int, now: datetime) -> None:
    history.execute(
        "UPDATE job_run SET status = ?, message = ?, finished_at = greatest(?, started_at)"
        " WHERE job_run_id = ?",
        [JobStatus.FAILED.value, LEASE_EXPIRED, to_utc(now, "`now`"), job_run_id],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One attempt of a job; an empty benchmark or family means all of them."""

    job_run_id: int
    job: str
    benchmark: str
    agent_family: str
    date: calendar_date
    attempt: int
    started_at: datetime
    finished_at: datetime | None
    status: JobStatus
    message: str
    owner: str | None = None
    lease_expires_at: datetime | None = None
    retry_at: datetime | None = None


def job_done(
    history: History, *, job: str, benchmark: str, family: str, date: calendar_date
) -> bool:
    """Whether an attempt for this benchmark, family and date ended as done."""
    return bool(
        history.rows(
            "SELECT 1 FROM job_run WHERE job = ? AND benchmark = ? AND agent_family = ?"
            " AND job_date = ? AND status = 'done'",
            [job, benchmark, family, date],
        )
    )


def list_job_runs(
    history: History,
    *,
    benchmark: str | None = None,
    job: str | None = None,
    limit: int | None = None,
) -> list[JobRun]:
    """List attempts, the latest first; the last `limit` of them, if given."""
    rows = history.rows(
        "SELECT job_run_id, job, benchmark, agent_family, job_date, attempt, started_at,"
        " finished_at, status, message, owner, lease_expires_at, retry_at FROM job_run"
        " WHERE (?::VARCHAR IS NULL OR benchmark IN (?, '')) AND (?::VARCHAR IS NULL OR job = ?)"
        " ORDER BY started_at DESC, job_run_id DESC LIMIT ?",
        [benchmark, benchmark, job, job, 2**62 if limit is None else limit],
    )
    return [
        JobRun(
            job_run_id=row[0],
            job=row[1],
            benchmark=row[2],
            agent_family=row[3],
            date=row[4],
            attempt=row[5],
            started_at=from_store(row[6]),
            finished_at=from_store(row[7]),
            status=JobStatus(row[8]),
            message=row[9],
            owner=row[10],
            lease_expires_at=from_store(row[11]),
            retry_at=from_store(row[12]),
        )
        for row in rows
    ]
