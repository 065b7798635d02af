"""What `doctor` reads of a history, and going on without what is lost, noted for ever."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from storage.file.archives import list_archives
from storage.file.commits import chain_at, commit_with_sidecar, last_commit, wrong_counts
from storage.file.errors import RESTORE, HistoryDamagedError, HistoryError
from storage.file.files import STAMP, write_ahead_logs
from storage.file.history import History
from storage.file.lock import connect, connected, note_written
from storage.file.opening import close_file
from storage.file.schema import check_schema, shipped_migrations
from storage.file.sidecar import read_sidecar
from storage.file.verify import find_damage, wrong_runs
from storage.values import to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedLoss:
    """What was given up, when and why."""

    accepted_at: datetime
    reason: str
    lost: str
    expected_sequence: int
    found_sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFacts:
    """Facts of a history.

    Attributes
    ----------
    schema_version, sequence : int
        Version of the tables and number of the last commit.
    total_blocks, free_blocks, block_bytes : int
    time_zone : str
        Of the connection; must be UTC.
    n_runs, n_verdicts, n_archives, n_archived_runs : int
    newest_record : datetime or None
        Latest time at which something was written.
    losses : tuple of AcceptedLoss
    damage : tuple of str
        What a full verification found.
    """

    schema_version: int
    sequence: int
    total_blocks: int
    free_blocks: int
    block_bytes: int
    time_zone: str
    n_runs: int
    n_verdicts: int
    n_archives: int
    n_archived_runs: int
    newest_record: datetime | None
    losses: tuple[AcceptedLoss, ...]
    damage: tuple[str, ...]


def history_facts(history: History) -> HistoryFacts:
    """Facts of a history; reads the whole file."""
    ((total, free, size, zone),) = history.rows(
        "SELECT total_blocks, free_blocks, block_size, current_setting('TimeZone')"
        " FROM pragma_database_size() WHERE database_name = current_database()"
    )
    ((runs, verdicts, imported, started, archived),) = history.rows(
        "SELECT count(*), coalesce(sum(n_verdicts), 0), max(imported_at),"
        " (SELECT max(greatest(started_at, finished_at)) FROM job_run),"
        " (SELECT count(*) FROM archived_run) FROM run"
    )
    return HistoryFacts(
        schema_version=shipped_migrations()[-1].version,
        sequence=history.check(last_commit).sequence,
        total_blocks=int(total),
        free_blocks=int(free),
        block_bytes=int(size),
        time_zone=zone,
        n_runs=runs,
        n_verdicts=int(verdicts),
        n_archives=len(history.check(lambda open_: list_archives(open_, history.path))),
        n_archived_runs=archived,
        newest_record=max((time for time in (imported, started) if time), default=None),
        losses=tuple(accepted_losses(history)),
        damage=tuple(history.check(lambda open_: find_damage(open_, history.path))),
    )


def accepted_losses(history: History) -> list[AcceptedLoss]:
    """List what was given up, the oldest first."""
    return history.records(
        AcceptedLoss,
        "SELECT accepted_at, reason, lost, expected_sequence, found_sequence"
        " FROM accepted_loss ORDER BY accepted_at, expected_sequence",
    )


def accept_loss(path: Path, *, reason: str, now: datetime) -> AcceptedLoss | None:
    """Make a history that lacks commits the valid one; None if it lacks nothing.

    A write-ahead log that cannot be read is set aside. Damage of the tables
    themselves cannot be accepted.

    Raises
    ------
    HistoryDamagedError
        If only a backup can help.
    """
    moved = _set_aside_unreadable_log(path, now)
    with connected(path, read_only=True, wait_seconds=2.0) as connection:
        check_schema(connection, path)
        lost = wrong_counts(connection)
        damage = wrong_runs(connection, path) if lost else find_damage(connection, path)
        found = last_commit(connection).sequence
        sidecar = read_sidecar(path)
        known = None if sidecar is None else chain_at(connection, sidecar.sequence)
    if damage:
        raise HistoryDamagedError(
            f"the history {path} is damaged: {damage[0]}; that cannot be given up, {RESTORE}"
        )
    expected = found if sidecar is None else sidecar.sequence
    if sidecar is not None and expected > found:
        lost.append(f"commits {found + 1} to {expected}{sidecar.lost_after(found)}")
    elif sidecar is not None and known != sidecar.chain:
        lost.append(f"commit {expected} is not the one the sidecar knows")
    if moved:
        lost.append(f"the write-ahead log, now {', '.join(file.name for file in moved)}")
    if not lost:
        return None
    return record_loss(path, reason=reason, lost="; ".join(lost), expected=expected, now=now)


def record_loss(
    path: Path, *, reason: str, lost: str, expected: int, now: datetime
) -> AcceptedLoss:
    """Append a commit with what was lost, numbered after all that ever were."""
    with connected(path, read_only=False, wait_seconds=2.0) as connection:
        loss = AcceptedLoss(
            accepted_at=to_utc(now, "`now`"),
            reason=reason,
            lost=lost,
            expected_sequence=expected,
            found_sequence=last_commit(connection).sequence,
        )
        connection.execute("BEGIN")
        connection.execute(
            "INSERT INTO accepted_loss VALUES (?, ?, ?, ?, ?)",
            [loss.accepted_at, reason, lost, expected, loss.found_sequence],
        )
        commit_with_sidecar(connection, path, at_least=expected + 1)
        note_written(path)
        close_file(connection, path)
    return loss


def _set_aside_unreadable_log(path: Path, now: datetime) -> list[Path]:
    logs = write_ahead_logs(path)
    if not logs:
        return []
    try:
        connect(path, read_only=True, wait_seconds=2.0).close()
    except HistoryDamagedError as error:
        if "wal" not in str(error).lower():
            raise
    else:
        return []
    stamp = to_utc(now, "`now`").strftime(STAMP)
    moved = []
    for log in logs:
        target = log.with_name(f"{log.name}.aside-{stamp}")
        with contextlib.suppress(FileNotFoundError):
            log.replace(target)
            moved.append(target)
    if not moved:
        raise HistoryError(f"the write-ahead log of {path} could not be set aside")
    return moved
