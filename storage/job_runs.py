"""Ledger of jobs: every attempt, by job, benchmark, family and date.

Attempts, leases and signs of life are written by functions re-exported here.
"""

from dataclasses import dataclass
from datetime import date as calendar_date
from datetime import datetime

from storage.heartbeats import beat, last_beat
from storage.history import History
from storage.job_attempts import JobStatus, finish_job, start_job
from storage.leases import due_retry, expired_leases, renew_lease, require_lease, take_lease
from storage.times import from_store

__all__ = [
    "JobRun",
    "JobStatus",
    "beat",
    "due_retry",
    "expired_leases",
    "finish_job",
    "job_done",
    "last_beat",
    "list_job_runs",
    "renew_lease",
    "require_lease",
    "start_job",
    "take_lease",
]


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
