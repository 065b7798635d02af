"""The name under which a process holds leases, and whether such a process still lives."""

import os
import re
import socket
import traceback
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from jobs.app.app import App
from jobs.app.config import Settings
from jobs.app.console import debugging
from jobs.schedule.queue import PROCESS_GONE, SETTLED, STOPPED, NightPlan, Slot, count_failures
from recurring_eval.errors import RecurringEvalError
from storage.file.history import History
from storage.ledger import JobRun, JobStatus, finish_job, list_job_runs, take_lease


def this_process(command: str) -> str:
    """Name of this process: what it does, host, process id and when it started."""
    pid = os.getpid()
    return f"{command}@{_host()}:{pid}:{_start_mark(pid)}"


def is_gone(owner: str) -> bool:
    """Whether the process of that name has certainly ended; False where that cannot be told."""
    found = re.fullmatch(r"[^@]*@(.*):(\d+):(\w*)", owner)
    if found is None or found[1] != _host():
        return False
    pid = int(found[2])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    # Process ids are used again; the start mark tells two of the same number apart.
    mark = _start_mark(pid)
    return bool(mark and found[3]) and mark != found[3]


def _start_mark(pid: int) -> str:
    """Start of a process in the kernel's ticks since boot; empty where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        return ""
    # The second field is the program's name in brackets and may hold spaces.
    return boot[:8] + fields.rpartition(")")[2].split()[19]


def _host() -> str:
    # Containers share host names easily, but not the namespace their process ids are counted in.
    try:
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")  # noqa: PTH115  # no such file
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}.{namespace}" if namespace else socket.gethostname()


RECALIBRATE: Final = "recalibrate"
REPORT: Final = "report"
BACKUP: Final = "backup"
FULL_RUN: Final = "full-run"
IMPORT: Final = "import"


class StopRequested(BaseException):
    """Ends a job that takes too long to finish after a request to stop.

    Not an `Exception`: nothing that contains failures may swallow it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKey:
    """What a job is keyed by beside the date; empty where it is for all."""

    job: str
    benchmark: str = ""
    family: str = ""

    def __str__(self) -> str:
        return f"{self.job} of {self.benchmark} ({self.family})" if self.benchmark else self.job


Ledger: TypeAlias = dict[JobKey, list[JobRun]]


def plan_of(settings: Settings, benchmark: str) -> NightPlan:
    """When the nights of a benchmark are and how often failing ones are tried."""
    nights = settings.nights_of(benchmark)
    return NightPlan(
        slot=Slot(at=nights.at, zone=ZoneInfo(nights.zone)),
        attempts=nights.attempts,
        retry_after=nights.retry_after,
        longest_retry=nights.longest_retry,
        catch_up_days=nights.catch_up_days,
        lease=settings.schedule.lease,
    )


def latest_only(plan: NightPlan) -> NightPlan:
    """Plan of a job for which a missed date need not be made up for."""
    return replace(plan, catch_up_days=0)


def read_ledger(history: History) -> Ledger:
    """Every attempt in the ledger, by job, benchmark and family."""
    ledger: Ledger = {}
    for run in list_job_runs(history):
        key = JobKey(job=run.job, benchmark=run.benchmark, family=run.agent_family)
        ledger.setdefault(key, []).append(run)
    return ledger


def take_attempt(
    app: App,
    key: JobKey,
    day: date,
    *,
    owner: str,
    done: Collection[JobStatus] = SETTLED,
    lease: timedelta | None = None,
) -> int | None:
    """Take the lease of a job; None if it is done or somebody else works on it."""
    with app.open_history() as history, history.transaction():
        return take_lease(
            history,
            job=key.job,
            benchmark=key.benchmark,
            family=key.family,
            date=day,
            owner=owner,
            now=app.clock.now(),
            lease_for=lease or app.settings.schedule.lease,
            done=done,
        )


def end_attempt(
    app: App, key: JobKey, attempt: int, *, owner: str, status: JobStatus, message: str
) -> None:
    """Note how an attempt ended, and after a failure when the next one may start.

    Raises
    ------
    HistoryError
        If the history cannot be written, or somebody else took the attempt over.
    """
    now, plan = app.clock.now(), plan_of(app.settings, key.benchmark)
    retry_at = None
    with app.open_history() as history, history.transaction():
        if status is JobStatus.FAILED and not message.startswith(STOPPED):
            failures = count_failures(_of_the_same_night(history, key, attempt)) + 1
            retry_at = now + plan.wait_after(failures) if failures < plan.attempts else None
        finish_job(
            history,
            attempt,
            status=status,
            message=message,
            now=now,
            owner=owner,
            retry_at=retry_at,
        )


def attempt_job(
    app: App, key: JobKey, day: date, work: Callable[[], str], *, owner: str
) -> tuple[JobStatus, str] | None:
    """Do a job once under a lease and note how it went; contain its failure.

    Parameters
    ----------
    app : App
    key : JobKey
    day : date
    work : callable
        Returns the message of success. Doing it twice must do no harm.
    owner : str

    Returns
    -------
    tuple of JobStatus and str or None
        How it ended; None if it is done or somebody else works on it.
    """
    attempt = take_attempt(app, key, day, owner=owner)
    if attempt is None:
        return None
    try:
        status, message = JobStatus.DONE, work()
    except Exception as error:
        status, message = JobStatus.FAILED, failure_message(error)
    except BaseException as error:
        note_end(app, key, attempt, owner=owner, message=stop_message(error))
        raise
    end_attempt(app, key, attempt, owner=owner, status=status, message=message)
    return status, message


def note_end(app: App, key: JobKey, attempt: int, *, owner: str, message: str) -> None:
    """Note a failure on the way out; an error in doing so must not hide the first one."""
    with suppress(RecurringEvalError, OSError):
        end_attempt(app, key, attempt, owner=owner, status=JobStatus.FAILED, message=message)


def close_gone(app: App, ledger: Ledger, *, keep: Iterable[str] = (FULL_RUN,)) -> list[JobRun]:
    """End the attempts whose process has ended on this machine, without waiting for the lease.

    Jobs in `keep` go on without the process that started them.
    """
    gone = [
        run
        for runs in ledger.values()
        for run in runs
        if run.status is JobStatus.RUNNING
        and run.job not in keep
        and run.owner is not None
        and is_gone(run.owner)
    ]
    if gone:
        with app.open_history() as history, history.transaction():
            now = app.clock.now()
            ended = {run.job_run_id for run in list_job_runs(history) if run.finished_at}
            for run in gone:
                if run.job_run_id not in ended:
                    finish_job(
                        history,
                        run.job_run_id,
                        status=JobStatus.FAILED,
                        message=f"{PROCESS_GONE} before the job did",
                        now=max(now, run.started_at),
                    )
    return gone


def failure_message(error: Exception) -> str:
    """One line about a failure, for the ledger; the traceback on stderr only when debugging."""
    if debugging():
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    return text if isinstance(error, RecurringEvalError) else f"{type(error).__name__}: {text}"


def stop_message(error: BaseException) -> str:
    """One line about a job that was cut short, for the ledger."""
    how = "request" if isinstance(error, StopRequested) else type(error).__name__
    return f"{STOPPED} by {how} before it had finished; nothing of it is stored"


def _of_the_same_night(history: History, key: JobKey, attempt: int) -> list[JobRun]:
    runs = [
        run
        for run in list_job_runs(history, benchmark=key.benchmark or None, job=key.job)
        if (run.benchmark, run.agent_family) == (key.benchmark, key.family)
    ]
    days = {run.date for run in runs if run.job_run_id == attempt}
    return [run for run in runs if run.date in days and run.job_run_id != attempt]
