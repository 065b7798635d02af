"""The one way a job is attempted, noted in the ledger and contained, and who works on it.

A job is keyed by its name, a benchmark, an agent family and a date. An attempt holds a
lease in the ledger while it runs, so that of several processes one does the job. How it
ended is noted with it: done, kept (in good order, without a new result) or failed.
"""

import os
import re
import socket
import traceback
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from jobs.app.app import App
from jobs.app.config_schedule import NightSettings
from jobs.app.console import debugging
from jobs.app.targets import Target
from recurring_eval.errors import FitError, NotEnoughDataError, RecurringEvalError
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.ledger import (
    LEASE_EXPIRED,
    JobRun,
    JobStatus,
    finish_job,
    list_job_runs,
    take_lease,
)

RECALIBRATE: Final = "recalibrate"
REPORT: Final = "report"
BACKUP: Final = "backup"
FULL_RUN: Final = "full-run"
IMPORT: Final = "import"
HEARTBEAT: Final = "schedule"
"""Name under which the scheduler notes that it lives."""

SETTLED: Final = (JobStatus.DONE, JobStatus.KEPT)
STOPPED: Final = "stopped"
PROCESS_GONE: Final = "process ended"
INTERRUPTED: Final = (STOPPED, LEASE_EXPIRED, PROCESS_GONE)
"""How the message of an attempt begins that was cut short."""


class StopRequested(BaseException):
    """Ends a job that takes too long to finish after a request to stop.

    Not an `Exception`: nothing that contains failures may swallow it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKey:
    """What a job is keyed by beside the date; without a target it is for all benchmarks."""

    job: str
    target: Target | None = None

    @property
    def benchmark(self) -> str:
        """Name of the benchmark; empty for all."""
        return self.target.benchmark if self.target else ""

    @property
    def family(self) -> str:
        """Agent family; empty for all."""
        return self.target.family if self.target else ""

    def __str__(self) -> str:
        return f"{self.job} of {self.target}" if self.target else self.job


Ledger: TypeAlias = dict[JobKey, list[JobRun]]


def read_ledger(history: History) -> Ledger:
    """Every attempt in the ledger, by job, benchmark and family."""
    ledger: Ledger = {}
    for run in list_job_runs(history):
        ledger.setdefault(_key_of(run), []).append(run)
    return ledger


def _key_of(run: JobRun) -> JobKey:
    target = Target(benchmark=run.benchmark, family=run.agent_family) if run.benchmark else None
    return JobKey(job=run.job, target=target)


def was_interrupted(attempt: JobRun) -> bool:
    """Whether an attempt was cut short, which is no failure of the job itself."""
    return attempt.status is JobStatus.FAILED and attempt.message.startswith(INTERRUPTED)


def count_failures(attempts: Iterable[JobRun]) -> int:
    """Count the failed attempts that were not cut short."""
    return sum(a.status is JobStatus.FAILED and not was_interrupted(a) for a in attempts)


def wait_after(failures: int, nights: NightSettings) -> timedelta:
    """Time to wait after the last of so many failures."""
    # Twenty doublings are over any limit, and many more would overflow.
    factor: int = 2 ** min(max(failures - 1, 0), 20)
    return min(nights.retry_after * factor, nights.longest_retry)


def attempt_job(
    app: App,
    key: JobKey,
    day: date,
    work: Callable[[int], str],
    *,
    owner: str,
    done: Collection[JobStatus] = SETTLED,
    notes_its_end: bool = False,
) -> tuple[JobStatus, str] | None:
    """Do a job once under a lease, note how it went, and contain its failure.

    Parameters
    ----------
    app : App
    key : JobKey
    day : date
    work : callable
        Takes the attempt's id and returns the message of success. Doing it twice must
        do no harm.
    owner : str
        Who holds the lease.
    done : collection of JobStatus
        Endings after which there is nothing left to do.
    notes_its_end : bool
        Whether `work` itself ends the attempt when it succeeds, in the transaction that
        stores its result.

    Returns
    -------
    tuple of JobStatus and str or None
        How it ended; None if it is done or somebody else works on it.

    Raises
    ------
    HistoryError
        If the lease cannot be taken.
    """
    attempt = take_attempt(app, key, day, owner=owner, done=done)
    if attempt is None:
        return None
    try:
        status, message = JobStatus.DONE, work(attempt)
        if notes_its_end:
            return status, message
    except (NotEnoughDataError, FitError) as error:
        status, message = JobStatus.KEPT, str(error)
    except Exception as error:
        status, message = JobStatus.FAILED, failure_message(error)
    except BaseException as error:
        note_end(app, key, attempt, owner=owner, message=stop_message(error))
        raise
    try:
        end_attempt(app, key, attempt, owner=owner, status=status, message=message)
    except (HistoryError, OSError) as error:
        # The lease ends by itself; others take the job up again then.
        status = JobStatus.FAILED
        if str(error) != message:
            message = f"{message}; nor could it be noted in the ledger: {failure_message(error)}"
    return status, message


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
    now, nights = app.clock.now(), app.settings.nights_of(key.benchmark)
    retry_at = None
    with app.open_history() as history, history.transaction():
        if status is JobStatus.FAILED and not message.startswith(STOPPED):
            failures = count_failures(_others_of_the_night(history, key, attempt)) + 1
            retry_at = now + wait_after(failures, nights) if failures < nights.attempts else None
        finish_job(
            history,
            attempt,
            status=status,
            message=message,
            now=now,
            owner=owner,
            retry_at=retry_at,
        )


def _others_of_the_night(history: History, key: JobKey, attempt: int) -> list[JobRun]:
    found = list_job_runs(history, benchmark=key.benchmark or None, job=key.job)
    runs = [run for run in found if _key_of(run) == key]
    days = {run.date for run in runs if run.job_run_id == attempt}
    return [run for run in runs if run.date in days and run.job_run_id != attempt]


def note_end(app: App, key: JobKey, attempt: int, *, owner: str, message: str) -> None:
    """Note a failure on the way out; an error in doing so must not hide the first one."""
    with suppress(RecurringEvalError, OSError):
        end_attempt(app, key, attempt, owner=owner, status=JobStatus.FAILED, message=message)


def close_gone(app: App, ledger: Ledger) -> list[JobRun]:
    """End the attempts whose process has ended on this machine, without waiting for the lease.

    Full runs go on without the process that started them.
    """
    gone = [
        run
        for key, runs in ledger.items()
        for run in runs
        if run.status is JobStatus.RUNNING
        and key.job != FULL_RUN
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


def this_process(command: str) -> str:
    """Name of this process: what it does, host, process id and when it started."""
    pid = os.getpid()
    return f"{command}@{_host()}:{pid}:{_start_mark(pid)}"


def is_gone(owner: str) -> bool:
    """Whether the process of that name has certainly ended; False where that is unknown."""
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
