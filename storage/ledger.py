"""The ledger: which job ran when, under whose lease, what it raised, and signs of life.

An attempt of a job runs under a lease: no other owner may make it until the lease ends or the
attempt does. An attempt whose lease has ended is closed as failed and taken over.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date as calendar_date
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from recurring_eval.errors import InputError
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.values import to_utc

LONGEST_LEASES: Final = 2
"""A lease that ends later than this many lease times from now comes from a clock ahead of ours."""
LEASE_EXPIRED: Final = "lease expired"
"""Message of an attempt that was taken over by another owner."""
COLUMNS: Final = """
SELECT job_run_id, job, benchmark, agent_family, job_date AS date, attempt, started_at,
       finished_at, status, message, owner, lease_expires_at, retry_at
FROM job_run
"""


class JobStatus(StrEnum):
    """How an attempt of a job ended."""

    RUNNING = "running"
    DONE = "done"
    KEPT = "kept"
    """Ended in good order without a new result; the previous one stays."""
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
    owner: str | None = None
    lease_expires_at: datetime | None = None
    retry_at: datetime | None = None

    def is_abandoned(self, now: datetime) -> bool:
        """Whether it runs under no lease, or one that has ended."""
        ends = self.lease_expires_at
        return self.status is JobStatus.RUNNING and (ends is None or ends <= now)

    def is_held(self, now: datetime, lease_for: timedelta) -> bool:
        """Whether its owner works on it under a lease, which lasts `lease_for` when taken."""
        ends = self.lease_expires_at
        return (
            self.status is JobStatus.RUNNING
            and ends is not None
            and now < ends <= now + LONGEST_LEASES * lease_for
        )


def list_job_runs(
    history: History,
    *,
    benchmark: str | None = None,
    job: str | None = None,
    limit: int | None = None,
) -> list[JobRun]:
    """List attempts, the latest first; the last `limit` of them, if given."""
    return history.records(
        JobRun,
        f"{COLUMNS} WHERE (?::VARCHAR IS NULL OR benchmark IN (?, ''))"
        " AND (?::VARCHAR IS NULL OR job = ?) ORDER BY started_at DESC, job_run_id DESC LIMIT ?",
        [benchmark, benchmark, job, job, 2**62 if limit is None else limit],
    )


def expired_leases(history: History, *, now: datetime) -> list[JobRun]:
    """List attempts that run under no lease, or one that has ended; the oldest first."""
    running = history.records(
        JobRun, f"{COLUMNS} WHERE status = 'running' ORDER BY started_at, job_run_id"
    )
    return [run for run in running if run.is_abandoned(now)]


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
    """Start an attempt that no other owner may make until its lease ends, inside a transaction.

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
    attempts = history.records(
        JobRun,
        f"{COLUMNS} WHERE job = ? AND benchmark = ? AND agent_family = ? AND job_date = ?",
        [job, benchmark, family, date],
    )
    if any(
        run.status in done or (run.owner not in (None, owner) and run.is_held(now, lease_for))
        for run in attempts
    ):
        return None
    moment = to_utc(now, "`now`")
    for run in attempts:
        if run.status is JobStatus.RUNNING:
            history.execute(
                "UPDATE job_run SET status = ?, message = ?, finished_at = greatest(?, started_at)"
                " WHERE job_run_id = ?",
                [JobStatus.FAILED.value, LEASE_EXPIRED, moment, run.job_run_id],
            )
    job_run_id = history.next_id("job_run")
    history.insert_row(
        "job_run",
        job_run_id=job_run_id,
        job=job,
        benchmark=benchmark,
        agent_family=family,
        job_date=date,
        attempt=len(attempts) + 1,
        started_at=moment,
        status=JobStatus.RUNNING.value,
        message="",
        owner=owner,
        lease_expires_at=moment + lease_for,
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
        Refuse if another owner holds the attempt's lease.
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


def beat(history: History, process: str, *, now: datetime) -> None:
    """Note that a process lives, inside the caller's transaction."""
    moment = to_utc(now, "`now`")
    if last_beat(history, process) is None:
        history.insert_row("heartbeat", process=process, beat_at=moment)
    else:
        history.execute("UPDATE heartbeat SET beat_at = ? WHERE process = ?", [moment, process])


def last_beat(history: History, process: str) -> datetime | None:
    """Last sign of life of a process, None if it never gave one."""
    ((moment,),) = history.rows("SELECT max(beat_at) FROM heartbeat WHERE process = ?", [process])
    return moment  # type: ignore[no-any-return]  # a time or NULL


class AlertState(StrEnum):
    """Where an alert stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something a person should look at.

    Attributes
    ----------
    alert_id : int
    benchmark, agent_family : str
    rule : str
        What noticed it, e.g. ``full-run-check``.
    subject : str
        What it is about, e.g. a method; with the rule it names the incident.
    message : str
    state : AlertState
    opened_at : datetime
    acknowledged_at, resolved_at : datetime or None
    """

    alert_id: int
    benchmark: str
    agent_family: str
    rule: str
    subject: str
    message: str
    state: AlertState
    opened_at: datetime
    acknowledged_at: datetime | None
    resolved_at: datetime | None


def open_alert(
    history: History,
    *,
    benchmark: str,
    family: str,
    rule: str,
    subject: str,
    message: str,
    now: datetime,
) -> int:
    """Open an alert and return its id, or that of the unresolved one for the incident."""
    benchmark_id = benchmark_row_id(history, benchmark)
    unresolved = history.rows(
        "SELECT alert_id FROM alert WHERE benchmark_id = ? AND agent_family = ? AND rule = ?"
        " AND subject = ? AND state <> 'resolved' ORDER BY alert_id",
        [benchmark_id, family, rule, subject],
    )
    if unresolved:
        return int(unresolved[0][0])
    alert_id = history.next_id("alert")
    history.insert_row(
        "alert",
        alert_id=alert_id,
        benchmark_id=benchmark_id,
        agent_family=family,
        rule=rule,
        subject=subject,
        message=message,
        state=AlertState.OPEN.value,
        opened_at=to_utc(now, "`now`"),
    )
    return alert_id


def list_alerts(
    history: History, benchmark: str | None = None, *, resolved: bool = False
) -> list[Alert]:
    """Alerts of one benchmark or all, oldest first; resolved ones only if asked for."""
    benchmark_id = None if benchmark is None else benchmark_row_id(history, benchmark)
    return history.records(
        Alert,
        "SELECT a.alert_id, b.name AS benchmark, a.agent_family, a.rule, a.subject, a.message,"
        " a.state, a.opened_at, a.acknowledged_at, a.resolved_at"
        " FROM alert AS a JOIN benchmark AS b USING (benchmark_id)"
        " WHERE (?::INTEGER IS NULL OR a.benchmark_id = ?) AND (? OR a.state <> 'resolved')"
        " ORDER BY a.opened_at, a.alert_id",
        [benchmark_id, benchmark_id, resolved],
    )


def resolve_alert(history: History, alert_id: int, *, now: datetime) -> None:
    """Close an alert; one that is resolved already stays as it is."""
    history.execute(
        "UPDATE alert SET state = ?, resolved_at = ? WHERE alert_id = ? AND state <> ?",
        [AlertState.RESOLVED.value, to_utc(now, "`now`"), alert_id, AlertState.RESOLVED.value],
    )
