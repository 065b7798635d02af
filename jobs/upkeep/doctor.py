"""The check-up of `recurring-eval doctor`: packages, history, files, clock, disk, backups."""

import os
import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from jobs.app.app import App
from jobs.upkeep.own_packages import foreign_packages
from recurring_eval.errors import RecurringEvalError
from storage.file.backups import backup_problem, list_backups
from storage.file.checkup import HistoryFacts, history_facts
from storage.file.files import PARTIAL, write_ahead_logs
from storage.file.history import History
from storage.ledger import expired_leases

FINE: Final = "ok"
WARNING: Final = "warning"
FAULT: Final = "FAULT"
CLOCK_SLACK: Final = timedelta(minutes=5)
FREE_SHARE: Final = 0.5
FREE_BYTES: Final = 64 << 20
BACKUP_AGE: Final = timedelta(hours=48)
LEAST_FREE: Final = 1 << 20
LITTLE_FREE: Final = 50 << 20
ROOM_FOR_COPIES: Final = 3

Outcome = tuple[str, str, str]
"""Status, details and advice of one check, as in `Finding`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found, and what to do about it.

    Attributes
    ----------
    name : str
    status : str
        ``ok``, ``warning`` or ``FAULT``.
    detail : str
    advice : str
        Empty if nothing is to be done.
    """

    name: str
    status: str
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What a check-up found; not `ok` if there is any fault."""

    ok: bool
    history: Path
    checks: tuple[Finding, ...]

    def text(self) -> list[str]:
        """Lines for people."""
        lines = []
        for check in self.checks:
            lines.append(f"{check.status:7s} {check.name}: {check.detail}")
            if check.advice:
                lines.append(f"{'':7s} {'':{len(check.name)}}  -> {check.advice}")
        return lines


def examine(app: App) -> Checkup:
    """Check packages, files, every stored run, the clock, the disk and the backups."""
    found = {
        "packages": _packages(),
        "permissions": _permissions(app),
        "write-ahead log": _write_ahead_log(app),
    }
    try:
        with app.open_history(read_only=True) as history:
            facts = history_facts(history)
            found |= {
                "opening": _opening(history),
                "integrity": _integrity(app, facts),
                "losses": _losses(facts),
                "free blocks": _blocks(facts),
                "time": _clock(app, facts),
            }
            found["leases"] = _leases(app, history)
    except RecurringEvalError as error:
        found["history"] = FAULT, str(error), ""
    found |= {"disk": _disk(app), "backups": _backups(app), "leftovers": _leftovers(app)}
    return Checkup(
        ok=all(status != FAULT for status, _, _ in found.values()),
        history=app.settings.history,
        checks=tuple(
            Finding(name=name, status=status, detail=detail, advice=advice)
            for name, (status, detail, advice) in found.items()
        ),
    )


def _packages() -> Outcome:
    if foreign := foreign_packages():
        advice = "install recurring-eval in an environment of its own (pipx or a virtual one)"
        return FAULT, "; ".join(foreign), advice
    return FINE, "all ours", ""


def _opening(history: History) -> Outcome:
    if history.notes:
        advice = "nothing is lost; if no crash explains it, find out what else writes to the file"
        return WARNING, "; ".join(history.notes), advice
    return FINE, "as it was closed", ""


def _integrity(app: App, facts: HistoryFacts) -> Outcome:
    if facts.damage:
        advice = f"run `recurring-eval restore BACKUP` ({app.newest_backup()})"
        return FAULT, "; ".join(facts.damage), advice
    archived = f", {facts.n_archived_runs:,} in archives" if facts.n_archives else ""
    detail = (
        f"{facts.n_runs:,} runs{archived} with {facts.n_verdicts:,} verdicts fit their "
        f"checksums; commit {facts.sequence}, schema version {facts.schema_version}"
    )
    return FINE, detail, ""


def _losses(facts: HistoryFacts) -> Outcome:
    if not facts.losses:
        return FINE, "none was ever accepted", ""
    last = facts.losses[-1]
    detail = (
        f"{len(facts.losses)} recorded, the last {last.accepted_at:%Y-%m-%d %H:%M} UTC "
        f"({last.reason}; lost: {last.lost or 'nothing'})"
    )
    return FINE, detail, ""


def _blocks(facts: HistoryFacts) -> Outcome:
    free = facts.free_blocks * facts.block_bytes
    detail = f"{facts.free_blocks} of {facts.total_blocks} ({free / 1e6:.1f} MB)"
    if facts.free_blocks > FREE_SHARE * max(facts.total_blocks, 1) and free > FREE_BYTES:
        return WARNING, detail, "run `recurring-eval compact`"
    return FINE, detail, ""


def _clock(app: App, facts: HistoryFacts) -> Outcome:
    if facts.time_zone != "UTC":
        detail = f"the session's zone is {facts.time_zone}, not UTC"
        return FAULT, detail, "unset the settings of DuckDB that change it"
    now = app.clock.now()
    if facts.newest_record is not None and facts.newest_record > now + CLOCK_SLACK:
        detail = (
            f"it is {now:%Y-%m-%d %H:%M} UTC, but something was stored at "
            f"{facts.newest_record:%Y-%m-%d %H:%M} UTC"
        )
        return WARNING, detail, "set this machine's clock; was it ahead before?"
    zone = os.environ.get("TZ") or "the system's zone"
    return FINE, f"UTC inside, {zone} outside; {now:%Y-%m-%d %H:%M} UTC", ""


def _leases(app: App, history: History) -> Outcome:
    expired = expired_leases(history, now=app.clock.now())
    if not expired:
        return FINE, "no job was left unfinished", ""
    last = expired[-1]
    detail = (
        f"{len(expired)} unfinished jobs, the last: "
        f"{last.job} {last.benchmark} {last.agent_family} {last.date}"
    )
    return WARNING, detail, "the next run of the job takes over; if none is scheduled, run it"


def _permissions(app: App) -> Outcome:
    """Whether this user may write the history and beside it."""
    path = app.settings.history
    for place in (path.parent, path):
        if place.exists() and not os.access(place, os.R_OK | os.W_OK):
            detail = f"this user may not write {place}"
            return WARNING, detail, "reading works; to write, give this user the right to"
    return FINE, f"{path.parent} can be written", ""


def _write_ahead_log(app: App) -> Outcome:
    """Whether a write-ahead log was left behind."""
    try:
        logs = write_ahead_logs(app.settings.history)
    except OSError as error:
        return FAULT, str(error), ""
    if not logs:
        return FINE, "none left behind", ""
    detail = f"{', '.join(log.name for log in logs)} was left by a crash"
    return WARNING, detail, "leave it in place: the next job that writes takes it in"


def _disk(app: App) -> Outcome:
    """Whether there is room for the history, a copy and a backup."""
    path = app.settings.history
    try:
        free = shutil.disk_usage(path.parent).free
        size = path.stat().st_size if path.exists() else 0
    except OSError as error:
        return FAULT, f"{path.parent}: {error.strerror}", ""
    detail = f"{free / 1e9:.1f} GB free beside a history of {size / 1e6:.1f} MB"
    if free < LEAST_FREE:
        return FAULT, detail, "free some space now"
    if free < max(ROOM_FOR_COPIES * size, LITTLE_FREE):
        advice = "free some space: a backup or compacting needs as much as the history"
        return WARNING, detail, advice
    return FINE, detail, ""


def _backups(app: App) -> Outcome:
    """Whether there is a recent and whole backup."""
    folder = app.settings.backups
    backups = list_backups(folder, app.settings.history)
    every_night = "run `recurring-eval backup`, every night"
    if not backups:
        return WARNING, f"none in {folder}", every_night
    newest = backups[-1]
    try:
        problem = backup_problem(newest.path)
    except (OSError, RecurringEvalError) as error:
        problem = str(error)
    if problem:
        return FAULT, problem, "run `recurring-eval backup` and see what changes files there"
    age = app.clock.now() - newest.made_at
    hours = age / timedelta(hours=1)
    detail = f"{len(backups)} in {folder}, the newest {newest.path.name}, {hours:.0f} h old"
    return (WARNING, detail, every_night) if age > BACKUP_AGE else (FINE, detail, "")


def _leftovers(app: App) -> Outcome:
    """Whether files of crashed or earlier work were left behind."""
    path = app.settings.history
    patterns = (f"{path.stem}*{PARTIAL}", f"{path.stem}.aside-*", f"{path.name}.restoring")
    found = sorted(file.name for pattern in patterns for file in path.parent.glob(pattern))
    if not found:
        return FINE, "none", ""
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return FINE, ", ".join(found[:5]) + more, "delete those you do not need"
