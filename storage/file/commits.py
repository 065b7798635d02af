"""The chain of commits inside the history.

Every transaction that writes appends a row to `commit_log`: its number, a digest of
what it wrote, the rows of every table afterwards, and
``chain = sha256(former chain, number, digest, row counts)``. The same chain value stands
in the sidecar. Two histories with the same value hold the same commits.
"""

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from storage.file.files import PARTIAL, sidecar_path
from storage.file.sidecar import Sidecar, prepare_sidecar, publish_sidecar, read_sidecar

START: Final = ""
KEPT_COMMITS: Final = 10_000
HASHED_ROWS: Final = 100_000
"""Of larger tables only the shape is hashed: a run's own checksum covers its verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One row of `commit_log`; `row_counts` leaves out `commit_log` and empty tables."""

    sequence: int
    chain: str
    digest: str
    row_counts: dict[str, int]


class Digest:
    """Running SHA-256 of the writing statements of a transaction."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.is_empty = True

    def add(self, sql: str, parameters: Sequence[object], rows: pa.Table | None = None) -> None:
        """Take in a statement, its parameters and the rows it reads."""
        self.is_empty = False
        self._hash.update(repr((sql, list(parameters))).encode())
        if rows is None:
            return
        self._hash.update(f"{rows.num_rows} {rows.column_names}".encode())
        if rows.num_rows <= HASHED_ROWS:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_table(rows)
            self._hash.update(sink.getvalue())

    def hexdigest(self) -> str:
        """Digest of everything taken in."""
        return self._hash.hexdigest()


def has_chain(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the schema knows the chain (from version 2 on)."""
    return "commit_log" in table_names(connection)


def table_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Tables of the history, sorted."""
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT temporary"
        " AND database_name = current_database() AND schema_name = 'main' ORDER BY table_name"
    ).fetchall()
    return [name for (name,) in rows]


def row_counts(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Rows of every table but `commit_log`, empty ones left out."""
    names = [name for name in table_names(connection) if name != "commit_log"]
    if not names:
        return {}
    parts = [f'(SELECT count(*) FROM "{name}")' for name in names]
    (counts,) = connection.execute(f"SELECT {', '.join(parts)}").fetchall()
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def last_commit(connection: duckdb.DuckDBPyConnection) -> Commit | None:
    """Newest commit, None before the first."""
    rows = connection.execute(
        "SELECT sequence, chain, digest, row_counts FROM commit_log ORDER BY sequence DESC LIMIT 1"
    ).fetchall()
    return _commit(rows[0]) if rows else None


def chain_at(connection: duckdb.DuckDBPyConnection, sequence: int) -> str | None:
    """Chain value after a commit; None if the log does not have it."""
    rows = connection.execute(
        "SELECT chain FROM commit_log WHERE sequence = ?", [sequence]
    ).fetchall()
    return str(rows[0][0]) if rows else None


def append_commit(
    connection: duckdb.DuckDBPyConnection, digest: str, *, at_least: int = 1
) -> tuple[Commit, str]:
    """Append the open transaction to the chain; call it last before COMMIT.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    digest : str
        Of what the transaction wrote.
    at_least : int
        Smallest number of the commit, where earlier numbers were lost.

    Returns
    -------
    commit : Commit
    summary : str
        What changed, such as ``run +2, verdict +1,038``.
    """
    former = last_commit(connection)
    sequence = max(at_least, 1 if former is None else former.sequence + 1)
    counts = row_counts(connection)
    before = {} if former is None else former.row_counts
    commit = Commit(
        sequence=sequence,
        chain=chain_value(START if former is None else former.chain, sequence, digest, counts),
        digest=digest,
        row_counts=counts,
    )
    connection.execute(
        "INSERT INTO commit_log VALUES (?, ?, ?, ?)",
        [sequence, commit.chain, digest, _as_json(counts)],
    )
    if sequence % KEPT_COMMITS == 0:
        connection.execute("DELETE FROM commit_log WHERE sequence <= ?", [sequence - KEPT_COMMITS])
    return commit, _summary(before, counts)


def chain_value(former: str, sequence: int, digest: str, counts: dict[str, int]) -> str:
    """Chain value of a commit."""
    text = "\n".join((former, str(sequence), digest, _as_json(counts)))
    return hashlib.sha256(text.encode()).hexdigest()


def broken_link(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Find the first kept commit whose chain value does not follow from its row."""
    rows = connection.execute(
        "SELECT sequence, chain, digest, row_counts FROM commit_log ORDER BY sequence"
    ).fetchall()
    commits = [_commit(row) for row in rows]
    former = commits[0].chain if commits and commits[0].sequence > 1 else START
    for commit in commits[1 if former else 0 :]:
        value = chain_value(former, commit.sequence, commit.digest, commit.row_counts)
        if commit.chain != value:
            return commit.sequence
        former = commit.chain
    return None


def _commit(row: tuple[Any, ...]) -> Commit:
    sequence, chain, digest, counts = row
    return Commit(sequence=sequence, chain=chain, digest=digest, row_counts=json.loads(counts))


def _summary(before: dict[str, int], after: dict[str, int]) -> str:
    changes = {
        name: after.get(name, 0) - before.get(name, 0)
        for name in sorted(before.keys() | after.keys())
    }
    told = [f"{name} {change:+,}" for name, change in changes.items() if change]
    return ", ".join(told) or "rows changed in place"


def _as_json(counts: dict[str, int]) -> str:
    return json.dumps(counts, sort_keys=True, separators=(",", ":"))


def commit(
    connection: duckdb.DuckDBPyConnection, path: Path, digest: Digest, *, at_least: int = 1
) -> None:
    """Append the open transaction to the chain, commit it and let the sidecar know.

    The sidecar is on the disk, under another name, before COMMIT: a full disk or a
    folder without permission is met while everything can still be rolled back.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    path : Path
        Of the history.
    digest : Digest
        Of what the transaction wrote.
    at_least : int
        Smallest number of the commit, where earlier numbers were lost.

    Raises
    ------
    HistoryError
        If the sidecar cannot be written.
    """
    try:
        partial = _prepare(connection, path, digest, at_least)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(OSError):
            sidecar = sidecar_path(path)
            sidecar.with_name(sidecar.name + PARTIAL).unlink(missing_ok=True)
        raise
    # The commit is stored by now: should this fail, the next opening makes up for it.
    with contextlib.suppress(OSError):
        publish_sidecar(path, partial)


def _prepare(
    connection: duckdb.DuckDBPyConnection, path: Path, digest: Digest, at_least: int
) -> Path:
    appended, summary = append_commit(connection, digest.hexdigest(), at_least=at_least)
    former = read_sidecar(path) or Sidecar(sequence=0, chain="")
    return prepare_sidecar(path, former.after(appended.sequence, appended.chain, summary))
