"""Planned full runs: when the next one is due, and the commands that start them."""

import logging
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from jobs.app.app import App
from jobs.app.config import Settings
from jobs.app.targets import Target
from jobs.schedule.due import NightState, scheduled_night
from jobs.schedule.ledger import (
    FULL_RUN,
    JobKey,
    Ledger,
    StopRequested,
    end_attempt,
    note_end,
    stop_message,
    take_attempt,
)
from recurring_eval.records import RunKind
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.ledger import JobStatus
from storage.runs.runs import list_runs

log = logging.getLogger(__name__)

LOG_FOLDER: Final = "full-run-logs"
OVERDUE_AFTER: Final = timedelta(days=1)
AT_ONCE: Final = 1
_LEASE_MARGIN: Final = timedelta(minutes=10)
_END_S: Final = 3.0


class FullRunState(StrEnum):
    """Whether a full run should start."""

    PLANNED = "planned"
    DUE = "due"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFullRun:
    """The next planned full run.

    Attributes
    ----------
    due_at : datetime
        One period after the last full run.
    state : FullRunState
        Overdue from a day after `due_at`.
    key_date : date
        Keys the attempts to start it. While no full run is imported it moves on
        by whole periods, so that a command that brought nothing is tried again.
    """

    due_at: datetime
    state: FullRunState
    key_date: date


def next_full_run(last_started: datetime, every: timedelta, now: datetime) -> PlannedFullRun:
    """Plan the next full run after the last one."""
    due_at = last_started + every
    periods = max(0, (now - due_at) // every)
    state = FullRunState.PLANNED
    if now >= due_at:
        state = FullRunState.DUE if now < due_at + OVERDUE_AFTER else FullRunState.OVERDUE
    return PlannedFullRun(due_at=due_at, state=state, key_date=(due_at + periods * every).date())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCommand:
    """A command that was started and has not been seen to end."""

    process: subprocess.Popen[bytes]
    key: JobKey
    attempt: int
    started_at: datetime
    timeout: timedelta
    log_file: Path


@dataclass(slots=True, kw_only=True)
class FullRuns:
    """The commands one scheduler has started."""

    owner: str
    running: list[RunningCommand] = field(default_factory=list)

    def start_due(self, app: App, ledger: Ledger, planned: dict[Target, PlannedFullRun]) -> None:
        """Start the command of the benchmarks whose full run is due, a few at a time."""
        for target, due in planned.items():
            if len(self.running) >= AT_ONCE:
                return
            if due.state is not FullRunState.PLANNED and _may_start(app, ledger, target, due):
                self._start(app, target, due.key_date)

    def look_after(self, app: App) -> bool:
        """Note the commands that have ended, stop those that take too long; False on failure."""
        fine = True
        for command in list(self.running):
            status = command.process.poll()
            if status is None and app.clock.now() - command.started_at > command.timeout:
                _end_group(command.process)
                status = command.process.returncode
            if status is not None:
                self.running.remove(command)
                _note(app, command, status, owner=self.owner)
                fine = fine and status == 0
        return fine

    def stop(self, app: App) -> None:
        """Stop every command and leave a clean ledger."""
        for command in self.running:
            _end_group(command.process)
            message = stop_message(StopRequested())
            note_end(app, command.key, command.attempt, owner=self.owner, message=message)
            log.info("%s stopped with the scheduler", command.key)
        self.running.clear()

    def _start(self, app: App, target: Target, day: date) -> None:
        nights = app.settings.nights_of(target.benchmark)
        key = JobKey(job=FULL_RUN, target=target)
        lease = nights.full_run_timeout + _LEASE_MARGIN
        attempt = take_attempt(app, key, day, owner=self.owner, lease=lease)
        if attempt is None:
            return
        values: dict[str, str | date] = {
            "benchmark": target.benchmark,
            "family": target.family,
            "date": day,
        }
        log_file = _log_file(app.settings, target, day, attempt)
        try:
            process = _spawn(fill_in(nights.full_run_command, values), _folder(app), log_file)
        except (OSError, ValueError) as error:
            message = f"{nights.full_run_command[0]} cannot be started: {error}"
            log.error("%s for %s: %s", key, day, message)
            note_end(app, key, attempt, owner=self.owner, message=message)
            return
        # Arguments may hold secrets; the program's name does not.
        log.info("%s for %s: started %s", key, day, nights.full_run_command[0])
        self.running.append(
            RunningCommand(
                process=process,
                key=key,
                attempt=attempt,
                started_at=app.clock.now(),
                timeout=nights.full_run_timeout,
                log_file=log_file,
            )
        )


def planned_full_runs(
    history: History, settings: Settings, targets: Sequence[Target], now: datetime
) -> dict[Target, PlannedFullRun]:
    """Next full run of every benchmark and family with a planned cadence."""
    planned = {}
    for target in targets:
        every = settings.nights_of(target.benchmark).full_run_every
        if every is None:
            continue
        runs = list_runs(history, target.benchmark, family=target.family, kinds=[RunKind.FULL])
        started = [run.started_at for run in runs if not run.under_covered]
        if started:
            planned[target] = next_full_run(max(started), every, now)
    return planned


def _may_start(app: App, ledger: Ledger, target: Target, due: PlannedFullRun) -> bool:
    nights = app.settings.nights_of(target.benchmark)
    if not nights.full_run_command:
        return False
    key = JobKey(job=FULL_RUN, target=target)
    attempts = [run for run in ledger.get(key, []) if run.date == due.key_date]
    night = scheduled_night(
        attempts,
        due.key_date,
        due.due_at,
        nights,
        app.clock.now(),
        lease=nights.full_run_timeout + _LEASE_MARGIN,
    )
    return night.state is NightState.DUE


def _note(app: App, command: RunningCommand, status: int, *, owner: str) -> None:
    ended = JobStatus.DONE if status == 0 else JobStatus.FAILED
    message = f"exit status {status}; output in {command.log_file}"
    log.log(logging.INFO if status == 0 else logging.ERROR, "%s: %s", command.key, message)
    try:
        end_attempt(app, command.key, command.attempt, owner=owner, status=ended, message=message)
    except HistoryError as error:
        log.error("%s: its end could not be noted in the ledger: %s", command.key, error)


def fill_in(command: tuple[str, ...], values: dict[str, str | date]) -> list[str]:
    """Replace ``{name}`` in every argument; each stays one argument whatever it contains."""
    pattern = re.compile("|".join(re.escape(f"{{{name}}}") for name in values))
    return [pattern.sub(lambda found: str(values[found[0][1:-1]]), word) for word in command]


def _spawn(command: list[str], folder: Path, log_file: Path) -> subprocess.Popen[bytes]:
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("ab") as output:
        return subprocess.Popen(  # noqa: S603  # the configured program, without a shell
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _end_group(process: subprocess.Popen[bytes]) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_END_S)
            return


def _folder(app: App) -> Path:
    return Path.cwd() if app.config_path is None else app.config_path.parent


def _log_file(settings: Settings, target: Target, day: date, attempt: int) -> Path:
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{target.benchmark}-{target.family}")
    return settings.history.parent / LOG_FOLDER / f"{words.lstrip('.')}-{day}-{attempt}.log"
