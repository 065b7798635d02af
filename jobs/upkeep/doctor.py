"""The check-up of `recurring-eval doctor`: packages, history, files, clock, disk, backups."""

import os
import shutil
from collections.abc import Callable
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
    findings = [_packages(), _permissions(app), _write_ahead_log(app)]
    try:
        with app.open_history(read_only=True) as history:
            facts = history_facts(history)
            findings += [_opening(history), *(check(app, facts) for check in HISTORY_CHECKS)]
            findings.append(_leases(app, history))
    except RecurringEvalError as error:
        findings.append(Finding(name="history", status=FAULT, detail=str(error)))
    findings += [_disk(app), _backups(app), _leftovers(app)]
    return Checkup(
        ok=all(finding.status != FAULT for finding in findings),
        history=app.settings.history,
        checks=tuple(findings),
    )


def _packages() -> Finding:
    foreign = foreign_packages()
    if not foreign:
        return Finding(name="packages", status=FINE, detail="all ours")
    return Finding(
        name="packages",
        status=FAULT,
        detail="; ".join(foreign),
        advice="install recurring-eval in an environment of its own (pipx or a virtual one)",
    )


def _opening(history: History) -> Finding:
    if not history.notes:
        return Finding(name="opening", status=FINE, detail="as it was closed")
    return Finding(
        name="opening",
        status=WARNING,
        detail="; ".join(history.notes),
        advice="nothing is lost; if no crash explains it, find out what else writes to the file",
    )


def _integrity(app: App, facts: HistoryFacts) -> Finding:
    if facts.damage:
        return Finding(
            name="integrity",
            status=FAULT,
            detail="; ".join(facts.damage),
            advice=f"run `recurring-eval restore BACKUP` ({app.newest_backup()})",
        )
    archived = f", {facts.n_archived_runs:,} in archives" if facts.n_archives else ""
    return Finding(
        name="integrity",
        status=FINE,
        detail=f"{facts.n_runs:,} runs{archived} with {facts.n_verdicts:,} verdicts fit their "
        f"checksums; commit {facts.sequence}, schema version {facts.schema_version}",
    )


def _losses(app: App, facts: HistoryFacts) -> Finding:  # noqa: ARG001  # as every check
    if not facts.losses:
        return Finding(name="losses", status=FINE, detail="none was ever accepted")
    last = facts.losses[-1]
    what = last.lost or "nothing"
    return Finding(
        name="losses",
        status=FINE,
        detail=f"{len(facts.losses)} recorded, the last {last.accepted_at:%Y-%m-%d %H:%M} UTC "
        f"({last.reason}; lost: {what})",
    )


def _blocks(app: App, facts: HistoryFacts) -> Finding:  # noqa: ARG001  # as every check
    free = facts.free_blocks * facts.block_bytes
    share = facts.free_blocks / max(facts.total_blocks, 1)
    wasteful = share > FREE_SHARE and free > FREE_BYTES
    return Finding(
        name="free blocks",
        status=WARNING if wasteful else FINE,
        detail=f"{facts.free_blocks} of {facts.total_blocks} ({free / 1e6:.1f} MB)",
        advice="run `recurring-eval compact`" if wasteful else "",
    )


def _clock(app: App, facts: HistoryFacts) -> Finding:
    if facts.time_zone != "UTC":
        return Finding(
            name="time",
            status=FAULT,
            detail=f"the session's zone is {facts.time_zone}, not UTC",
            advice="unset the settings of DuckDB that change it",
        )
    now = app.clock.now()
    if facts.newest_record is not None and facts.newest_record > now + CLOCK_SLACK:
        return Finding(
            name="time",
            status=WARNING,
            detail=f"it is {now:%Y-%m-%d %H:%M} UTC, but something was stored at "
            f"{facts.newest_record:%Y-%m-%d %H:%M} UTC",
            advice="set this machine's clock; was it ahead before?",
        )
    zone = os.environ.get("TZ") or "the system's zone"
    return Finding(
        name="time", status=FINE, detail=f"UTC inside, {zone} outside; {now:%Y-%m-%d %H:%M} UTC"
    )


def _leases(app: App, history: History) -> Finding:
    expired = expired_leases(history, now=app.clock.now())
    if not expired:
        return Finding(name="leases", status=FINE, detail="no job was left unfinished")
    last = expired[-1]
    return Finding(
        name="leases",
        status=WARNING,
        detail=f"{len(expired)} unfinished jobs, the last: "
        f"{last.job} {last.benchmark} {last.agent_family} {last.date}",
        advice="the next run of the job takes over; if none is scheduled, run it",
    )


def _permissions(app: App) -> Finding:
    """Whether this user may write the history and beside it."""
    path = app.settings.history
    for place in (path.parent, path):
        if place.exists() and not os.access(place, os.R_OK | os.W_OK):
            return Finding(
                name="permissions",
                status=WARNING,
                detail=f"this user may not write {place}",
                advice="reading works; to write, give this user the right to",
            )
    return Finding(name="permissions", status=FINE, detail=f"{path.parent} can be written")


def _write_ahead_log(app: App) -> Finding:
    """Whether a write-ahead log was left behind."""
    try:
        logs = write_ahead_logs(app.settings.history)
    except OSError as error:
        return Finding(name="write-ahead log", status=FAULT, detail=str(error))
    if not logs:
        return Finding(name="write-ahead log", status=FINE, detail="none left behind")
    return Finding(
        name="write-ahead log",
        status=WARNING,
        detail=f"{', '.join(log.name for log in logs)} was left by a crash",
        advice="leave it in place: the next job that writes takes it in",
    )


def _disk(app: App) -> Finding:
    """Whether there is room for the history, a copy and a backup."""
    path = app.settings.history
    try:
        free = shutil.disk_usage(path.parent).free
        size = path.stat().st_size if path.exists() else 0
    except OSError as error:
        return Finding(name="disk", status=FAULT, detail=f"{path.parent}: {error.strerror}")
    detail = f"{free / 1e9:.1f} GB free beside a history of {size / 1e6:.1f} MB"
    if free < LEAST_FREE:
        return Finding(name="disk", status=FAULT, detail=detail, advice="free some space now")
    if free < max(ROOM_FOR_COPIES * size, LITTLE_FREE):
        return Finding(
            name="disk",
            status=WARNING,
            detail=detail,
            advice="free some space: a backup or compacting needs as much as the history",
        )
    return Finding(name="disk", status=FINE, detail=detail)


def _backups(app: App) -> Finding:
    """Whether there is a recent and whole backup."""
    folder = app.settings.backups
    backups = list_backups(folder, app.settings.history)
    if not backups:
        return Finding(
            name="backups",
            status=WARNING,
            detail=f"none in {folder}",
            advice="run `recurring-eval backup`, every night",
        )
    newest = backups[-1]
    try:
        problem = backup_problem(newest.path)
    except (OSError, RecurringEvalError) as error:
        problem = str(error)
    if problem:
        return Finding(
            name="backups",
            status=FAULT,
            detail=problem,
            advice="run `recurring-eval backup` and see what changes files there",
        )
    age = app.clock.now() - newest.made_at
    hours = age / timedelta(hours=1)
    detail = f"{len(backups)} in {folder}, the newest {newest.path.name}, {hours:.0f} h old"
    if age > BACKUP_AGE:
        return Finding(
            name="backups",
            status=WARNING,
            detail=detail,
            advice="run `recurring-eval backup`, every night",
        )
    return Finding(name="backups", status=FINE, detail=detail)


def _leftovers(app: App) -> Finding:
    """Whether files of crashed or earlier work were left behind."""
    path = app.settings.history
    patterns = (f"{path.stem}*{PARTIAL}", f"{path.stem}.aside-*", f"{path.name}.restoring")
    found = sorted(file.name for pattern in patterns for file in path.parent.glob(pattern))
    if not found:
        return Finding(name="leftovers", status=FINE, detail="none")
    return Finding(
        name="leftovers",
        status=FINE,
        detail=", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else ""),
        advice="delete those you do not need",
    )


HISTORY_CHECKS: Final[tuple[Callable[[App, HistoryFacts], Finding], ...]] = (
    _integrity,
    _losses,
    _blocks,
    _clock,
)
