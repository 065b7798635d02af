"""Check-up: is everything stored whole, and will it stay so."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from jobs.app.app import App
from jobs.upkeep.doctor_files import (
    FAULT,
    FINE,
    WARNING,
    Finding,
    check_backups,
    check_disk,
    check_folder,
    check_leftovers,
    check_log,
)
from jobs.upkeep.own_packages import foreign_packages
from recurring_eval.errors import RecurringEvalError
from storage.file.checkup import AcceptedLoss, HistoryFacts, accept_loss, history_facts
from storage.file.history import History
from storage.ledger import expired_leases

CLOCK_SLACK: Final = timedelta(minutes=5)
FREE_SHARE: Final = 0.5
FREE_BYTES: Final = 64 << 20


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
    findings = [_packages(), check_folder(app), check_log(app)]
    try:
        with app.open_history(read_only=True) as history:
            facts = history_facts(history)
            findings += [_opening(history), *(check(app, facts) for check in HISTORY_CHECKS)]
            findings.append(_leases(app, history))
    except RecurringEvalError as error:
        findings.append(Finding(name="history", status=FAULT, detail=str(error)))
    findings += [check_disk(app), check_backups(app), check_leftovers(app)]
    return Checkup(
        ok=all(finding.status != FAULT for finding in findings),
        history=app.settings.history,
        checks=tuple(findings),
    )


def give_up_losses(app: App, *, reason: str) -> AcceptedLoss | None:
    """Go on without commits that are lost; None if nothing is.

    Raises
    ------
    HistoryError
        If only a backup can help.
    """
    return accept_loss(app.settings.history, reason=reason, now=app.clock.now())


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


HISTORY_CHECKS: Final[tuple[Callable[[App, HistoryFacts], Finding], ...]] = (
    _integrity,
    _losses,
    _blocks,
    _clock,
)
