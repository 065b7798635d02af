"""The commits of a history: their chain inside it, and the sidecar that must agree.

Every transaction that writes appends a row to `commit_log`: its number, a random
`digest`, the rows of every table afterwards, and
``chain = sha256(previous chain, number, digest, row counts)``. The same chain value is in
the sidecar, so two histories with the same value hold the same commits.

The row counts notice rows that are gone and that no checksum of a run covers. Measured: a
history from which another program had deleted a row of `bank_question` was opened as whole
without the counts, and is refused with them. They also name what lost commits had changed.
"""

import contextlib
import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from storage.file.errors import RESTORE, HistoryDamagedError
from storage.file.files import PARTIAL, publish, sidecar_path
from storage.file.lock import descriptor_of
from storage.file.sidecar import FileBytes, Sidecar, prepare_sidecar, read_sidecar

ACCEPT: Final = 'or give up what is missing with `recurring-eval doctor --accept-loss "WHY"`'
KEPT_COMMITS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One row of `commit_log`; `row_counts` leaves out `commit_log` and empty tables."""

    sequence: int
    chain: str
    digest: str
    row_counts: dict[str, int]


START: Final = Commit(sequence=0, chain="", digest="", row_counts={})
"""What there is before the first commit."""


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
    parts = [
        f"SELECT '{name}', count(*) FROM \"{name}\""
        for name in table_names(connection)
        if name != "commit_log"
    ]
    # A third of the time that one row with as many columns takes.
    rows = connection.execute(" UNION ALL ".join(parts)).fetchall() if parts else []
    return {name: count for name, count in sorted(rows) if count}


def last_commit(connection: duckdb.DuckDBPyConnection) -> Commit:
    """Newest commit, `START` before the first."""
    found = _commits(connection, "ORDER BY sequence DESC LIMIT 1")
    return found[0] if found else START


def chain_at(connection: duckdb.DuckDBPyConnection, sequence: int) -> str | None:
    """Chain value after a commit; None if the log does not have it."""
    rows = connection.execute(
        "SELECT chain FROM commit_log WHERE sequence = ?", [sequence]
    ).fetchall()
    return str(rows[0][0]) if rows else None


def append_commit(
    connection: duckdb.DuckDBPyConnection, *, at_least: int = 1
) -> tuple[Commit, str]:
    """Append the open transaction to the chain; call it last before COMMIT.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    at_least : int
        Smallest number of the commit, where earlier numbers were lost.

    Returns
    -------
    commit : Commit
    summary : str
        What changed, such as ``run +2, verdict +1,038``.
    """
    previous = last_commit(connection)
    sequence = max(at_least, previous.sequence + 1)
    counts, digest = row_counts(connection), secrets.token_hex(32)
    chain = _chain_value(previous.chain, sequence, digest, counts)
    connection.execute(
        "INSERT INTO commit_log VALUES (?, ?, ?, ?)", [sequence, chain, digest, _as_json(counts)]
    )
    if sequence % KEPT_COMMITS == 0:
        connection.execute("DELETE FROM commit_log WHERE sequence <= ?", [sequence - KEPT_COMMITS])
    commit = Commit(sequence=sequence, chain=chain, digest=digest, row_counts=counts)
    return commit, _summary(previous.row_counts, counts)


def commit_with_sidecar(
    connection: duckdb.DuckDBPyConnection, path: Path, *, at_least: int = 1
) -> None:
    """Append the open transaction to the chain, commit it and bring the sidecar up to it.

    The sidecar is on the disk, under another name, before COMMIT: a full disk or a
    folder without permission is met while everything can still be rolled back.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    path : Path
        Of the history.
    at_least : int
        Smallest number of the commit, where earlier numbers were lost.

    Raises
    ------
    HistoryError
        If the sidecar cannot be written.
    """
    try:
        commit, summary = append_commit(connection, at_least=at_least)
        previous = read_sidecar(path) or Sidecar(sequence=0, chain="")
        partial = prepare_sidecar(path, previous.after(commit.sequence, commit.chain, summary))
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(OSError):
            sidecar = sidecar_path(path)
            sidecar.with_name(sidecar.name + PARTIAL).unlink(missing_ok=True)
        raise
    # The commit is stored by now: should this fail, the next opening makes up for it.
    with contextlib.suppress(OSError):
        publish(partial, sidecar_path(path))


def write_sidecar(
    connection: duckdb.DuckDBPyConnection, path: Path, *, file: Path | None = None
) -> None:
    """Write the sidecar of a history at rest: its last commit and the bytes of its file.

    `file`, if given, is what will take the place of the history at `path`.
    """
    commit, previous = last_commit(connection), read_sidecar(path)
    recent = () if previous is None else previous.recent
    sidecar = Sidecar(
        sequence=commit.sequence,
        chain=commit.chain,
        recent=tuple(entry for entry in recent if entry[0] <= commit.sequence),
        file=FileBytes.of(descriptor_of(path if file is None else file)),
    )
    publish(prepare_sidecar(path, sidecar), sidecar_path(path))


def compare_with_sidecar(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """List, as notes, what a history has that its sidecar does not know.

    Raises
    ------
    HistoryDamagedError
        If it is behind its sidecar, or not the one that belongs to it.
    """
    sidecar = read_sidecar(path)
    name = sidecar_path(path).name
    sequence = last_commit(connection).sequence
    if sidecar is None:
        return [f"the sidecar {name} is missing or unreadable; it is written anew"]
    if sequence < sidecar.sequence:
        raise HistoryDamagedError(
            f"the history {path} has lost commits: it ends with number {sequence}, but {name} "
            f"knows {sidecar.sequence}{sidecar.lost_after(sequence)}; {RESTORE}, {ACCEPT}"
        )
    if chain_at(connection, sidecar.sequence) != sidecar.chain:
        raise HistoryDamagedError(
            f"the history {path} is not the one that {name} belongs to: commit "
            f"{sidecar.sequence} differs; {RESTORE}, {ACCEPT}"
        )
    if sequence > sidecar.sequence:
        return [
            f"{name} did not know the last {sequence - sidecar.sequence} commits yet; "
            "it continues with them"
        ]
    return []


def wrong_counts(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Compare the rows of every table with what the last commit left."""
    commit = last_commit(connection)
    if commit == START:
        return ["the log of commits is empty"]
    now, then = row_counts(connection), commit.row_counts
    return [
        f"table {name} has {now.get(name, 0):,} rows, "
        f"but the last commit left {then.get(name, 0):,}"
        for name in sorted(now.keys() | then.keys())
        if now.get(name, 0) != then.get(name, 0)
    ]


def broken_links(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """First kept commit whose chain value does not follow from its row and the one before."""
    commits = _commits(connection, "ORDER BY sequence")
    # What came before the oldest commit that is kept is not known any more.
    previous = START.chain if commits and commits[0].sequence == 1 else None
    for commit in commits:
        if previous is not None:
            value = _chain_value(previous, commit.sequence, commit.digest, commit.row_counts)
            if commit.chain != value:
                return [f"commit {commit.sequence} does not follow from the one before it"]
        previous = commit.chain
    return []


def _commits(connection: duckdb.DuckDBPyConnection, order: str) -> list[Commit]:
    rows = connection.execute(
        f"SELECT sequence, chain, digest, row_counts FROM commit_log {order}"
    ).fetchall()
    return [
        Commit(sequence=sequence, chain=chain, digest=digest, row_counts=json.loads(counts))
        for sequence, chain, digest, counts in rows
    ]


def _chain_value(previous: str, sequence: int, digest: str, counts: dict[str, int]) -> str:
    text = "\n".join((previous, str(sequence), digest, _as_json(counts)))
    return hashlib.sha256(text.encode()).hexdigest()


def _summary(before: dict[str, int], after: dict[str, int]) -> str:
    changes = {
        name: after.get(name, 0) - before.get(name, 0)
        for name in sorted(before.keys() | after.keys())
    }
    told = [f"{name} {change:+,}" for name, change in changes.items() if change]
    return ", ".join(told) or "rows changed in place"


def _as_json(counts: dict[str, int]) -> str:
    return json.dumps(counts, sort_keys=True, separators=(",", ":"))
