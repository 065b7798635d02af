"""One line of a check-up."""

import os
import shutil
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from jobs.app.app import App
from recurring_eval.errors import RecurringEvalError
from storage.file.backups import backup_problem, list_backups
from storage.file.files import PARTIAL, write_ahead_logs

FINE: Final = "ok"
WARNING: Final = "warning"
FAULT: Final = "FAULT"


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


BACKUP_AGE: Final = timedelta(hours=48)
LEAST_FREE: Final = 1 << 20
LITTLE_FREE: Final = 50 << 20
ROOM_FOR_COPIES: Final = 3


def check_folder(app: App) -> Finding:
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


def check_log(app: App) -> Finding:
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


def check_disk(app: App) -> Finding:
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


def check_backups(app: App) -> Finding:
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


def check_leftovers(app: App) -> Finding:
    """Whether files of crashed or former work lie around."""
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
