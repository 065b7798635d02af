"""Ledger of jobs: every attempt, by job, benchmark, family and date."""

from dataclasses import dataclass
from datetime import date as calendar_date
from datetime import datetime
from enum import StrEnum

from recurring_eval.errors import InputError
from storage.history import History
from storage.times import from_store, to_utc


class JobStatus(StrEnum):
    """How an attempt of a job ended."""

    RUNNING = "running"
    DONE = "done"
    KEPT = "kept"
    """Ended in good order without a new result; the former one stays."""
    FAILED = "failed"


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
    history: History, job_run_id: int, *, status: JobStatus, message: str, now: datetime
) -> None:
    """Note how an attempt ended.

    Raises
    ------
    InputError
        If there is no such attempt or it has ended already.
    """
    running = history.rows(
        "SELECT 1 FROM job_run WHERE job_run_id = ? AND finished_at IS NULL", [job_run_id]
    )
    if not running:
        raise InputError(f"the ledger has no running attempt {job_run_id}")
    history.execute(
        "UPDATE job_run SET status = ?, message = ?, finished_at = ? WHERE job_run_id = ?",
        [status.value, message, to_utc(now, "`now`"), job_run_id],
    )


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
        " finished_at, status, message FROM job_run"
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
        )
        for row in rows
    ]
