"""Giving up what is lost: the history goes on without it, and says so for ever."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from storage.file.backups import STAMP
from storage.file.commits import Digest, chain_at, last_commit
from storage.file.commits import commit as commit_with_sidecar
from storage.file.errors import RESTORE, HistoryDamagedError, HistoryError
from storage.file.files import write_ahead_logs
from storage.file.history import History
from storage.file.lock import connect, note_written, one_line_errors, register, release
from storage.file.opening import describe_lost, seal
from storage.file.schema import check_schema, schema_version, shipped_migrations
from storage.file.sidecar import read_sidecar
from storage.file.verify import find_damage, list_archives, wrong_counts, wrong_runs
from storage.times import from_store, to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedLoss:
    """What was given up, when and why."""

    accepted_at: datetime
    reason: str
    lost: str
    expected_sequence: int
    found_sequence: int


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
    connection = connect(path, read_only=True, wait_seconds=2.0)
    try:
        with one_line_errors(path):
            check_schema(connection, shipped_migrations(), path=str(path))
            counts = wrong_counts(connection)
            damage = wrong_runs(connection, path) if counts else find_damage(connection, path)
            commit = last_commit(connection)
            sidecar = read_sidecar(path)
            known = None if sidecar is None else chain_at(connection, sidecar.sequence)
    finally:
        connection.close()
    if damage:
        raise HistoryDamagedError(
            f"the history {path} is damaged: {damage[0]}; that cannot be given up, {RESTORE}"
        )
    found = 0 if commit is None else commit.sequence
    expected = found if sidecar is None else sidecar.sequence
    lost = list(counts)
    if sidecar is not None and expected > found:
        lost.append(f"commits {found + 1} to {expected}{describe_lost(sidecar, found)}")
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
    """Append a commit that says what was lost, numbered after all that ever were."""
    connection = connect(path, read_only=False, wait_seconds=2.0)
    register(path)
    try:
        with one_line_errors(path):
            commit = last_commit(connection)
            loss = AcceptedLoss(
                accepted_at=to_utc(now, "`now`"),
                reason=reason,
                lost=lost,
                expected_sequence=expected,
                found_sequence=0 if commit is None else commit.sequence,
            )
            values = [
                loss.accepted_at,
                loss.reason,
                loss.lost,
                loss.expected_sequence,
                loss.found_sequence,
            ]
            digest = Digest()
            digest.add("accepted_loss", values)
            connection.execute("BEGIN")
            connection.execute("INSERT INTO accepted_loss VALUES (?, ?, ?, ?, ?)", values)
            commit_with_sidecar(connection, path, digest, at_least=expected + 1)
            note_written(path)
        seal(connection, path)
        return loss
    finally:
        connection.close()
        release(path)


def accepted_losses(connection: duckdb.DuckDBPyConnection) -> list[AcceptedLoss]:
    """List what was given up, the oldest first."""
    rows = connection.execute(
        "SELECT accepted_at, reason, lost, expected_sequence, found_sequence"
        " FROM accepted_loss ORDER BY accepted_at, expected_sequence"
    ).fetchall()
    return [
        AcceptedLoss(
            accepted_at=from_store(row[0]),
            reason=row[1],
            lost=row[2],
            expected_sequence=row[3],
            found_sequence=row[4],
        )
        for row in rows
    ]


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
    """Look at everything; reads the whole file."""
    return history.check(lambda connection: _facts(connection, history))


def _facts(connection: duckdb.DuckDBPyConnection, history: History) -> HistoryFacts:
    def one(sql: str) -> tuple[object, ...]:
        row: tuple[object, ...] = connection.execute(sql).fetchall()[0]
        return row

    total, free, size = one(
        "SELECT total_blocks, free_blocks, block_size FROM pragma_database_size()"
        " WHERE database_name = current_database()"
    )
    runs, verdicts, imported = one(
        "SELECT count(*), coalesce(sum(n_verdicts), 0), max(imported_at) FROM run"
    )
    (started,) = one("SELECT max(greatest(started_at, finished_at)) FROM job_run")
    times = [from_store(moment) for moment in (imported, started) if isinstance(moment, datetime)]
    commit = last_commit(connection)
    return HistoryFacts(
        schema_version=schema_version(connection),
        sequence=0 if commit is None else commit.sequence,
        total_blocks=int(str(total)),
        free_blocks=int(str(free)),
        block_bytes=int(str(size)),
        time_zone=str(one("SELECT current_setting('TimeZone')")[0]),
        n_runs=int(str(runs)),
        n_verdicts=int(str(verdicts)),
        n_archives=len(list_archives(connection, history.path)),
        n_archived_runs=int(str(one("SELECT count(*) FROM archived_run")[0])),
        newest_record=max(times, default=None),
        losses=tuple(accepted_losses(connection)),
        damage=tuple(find_damage(connection, history.path)),
    )
