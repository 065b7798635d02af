"""What a check-up wants to know about an open history."""

from dataclasses import dataclass
from datetime import datetime

import duckdb

from storage.file.accept_loss import AcceptedLoss, accepted_losses
from storage.file.archives import list_archives
from storage.file.commit_chain import last_commit
from storage.file.history import History
from storage.file.migrate import schema_version
from storage.file.verify import find_damage
from storage.times import from_store


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
