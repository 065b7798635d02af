"""Numbered schema migrations and the ledger that proves which were applied."""

import functools
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Final

import duckdb

from storage.file.commits import append_commit, has_chain
from storage.file.errors import SchemaError

LEDGER: Final = """
CREATE TABLE IF NOT EXISTS schema_migration (
    version INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    checksum VARCHAR NOT NULL,
    tables_checksum VARCHAR NOT NULL,
    applied_at TIMESTAMPTZ
)
"""
FILE_NAME: Final = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One numbered step of the schema.

    Attributes
    ----------
    version : int
        From 1, without gaps.
    name : str
    sql : str
        Statements, run in one transaction.
    """

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the statements, the same for any line endings."""
        return hashlib.sha256(self.sql.replace("\r\n", "\n").encode()).hexdigest()


@functools.cache
def shipped_migrations() -> tuple[Migration, ...]:
    """Migrations of this program in order of version."""
    found = []
    for entry in (files("storage.file") / "migrations").iterdir():
        match = FILE_NAME.fullmatch(entry.name)
        if match is not None:
            sql = entry.read_text(encoding="utf-8")
            found.append(Migration(version=int(match[1]), name=match[2], sql=sql))
    return tuple(sorted(found, key=lambda migration: migration.version))


def check_schema(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    older: bool = False,
    migrations: Sequence[Migration] | None = None,
) -> int:
    """Refuse a file whose schema is not exactly that of the migrations, by default the shipped.

    With `older`, one that they would bring up to date is accepted, too.

    Returns
    -------
    int
        Version of the file's schema.

    Raises
    ------
    SchemaError
        For a file without a ledger, and for a newer, older or edited schema,
        naming both versions.
    """
    known = shipped_migrations() if migrations is None else migrations
    ledger = _ledger(connection)
    ours = known[-1].version
    if not ledger:
        raise SchemaError(
            f"{path} is a DuckDB file but not a history of recurring-eval; "
            "give the path of a history or create one with `recurring-eval init`"
        )
    theirs, _, tables = ledger[-1]
    if theirs > ours:
        raise SchemaError(
            f"{path} has schema version {theirs}, newer than version {ours} of this program; "
            "upgrade recurring-eval"
        )
    shipped = {migration.version: migration.checksum for migration in known}
    for version, checksum, _ in ledger:
        if shipped.get(version) != checksum:
            raise SchemaError(
                f"{path} has schema version {theirs}, but its migration {version} differs from "
                f"the one of this program (schema version {ours}); use the program that made it"
            )
    if tables != _tables_checksum(connection):
        raise SchemaError(
            f"the tables of {path} (schema version {theirs}) were edited outside recurring-eval "
            f"(schema version {ours}); restore a backup or undo the edit"
        )
    if theirs < ours and not older:
        raise SchemaError(
            f"{path} has schema version {theirs}, older than version {ours} of this program; "
            "run `recurring-eval migrate`"
        )
    return theirs


def apply_migrations(
    connection: duckdb.DuckDBPyConnection,
    migrations: Sequence[Migration],
    *,
    now: datetime | None = None,
) -> list[int]:
    """Apply those of `migrations` that the ledger lacks, each in one transaction.

    Returns
    -------
    list of int
        The versions applied.
    """
    done = {version for version, _, _ in _ledger(connection)}
    pending = [migration for migration in migrations if migration.version not in done]
    for migration in pending:
        connection.execute("BEGIN")
        try:
            connection.execute(LEDGER)
            connection.execute(migration.sql)
            connection.execute(
                "INSERT INTO schema_migration VALUES (?, ?, ?, ?, ?)",
                [
                    migration.version,
                    migration.name,
                    migration.checksum,
                    _tables_checksum(connection),
                    now,
                ],
            )
            if has_chain(connection):
                append_commit(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
    return [migration.version for migration in pending]


def _ledger(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, str, str]]:
    known = connection.execute(
        "SELECT count(*) FROM duckdb_tables()"
        " WHERE table_name = 'schema_migration' AND NOT temporary"
        " AND database_name = current_database()"
    ).fetchall()
    if not known[0][0]:
        return []
    rows = connection.execute(
        "SELECT version, checksum, tables_checksum FROM schema_migration ORDER BY version"
    ).fetchall()
    return [(int(version), str(checksum), str(tables)) for version, checksum, tables in rows]


def _tables_checksum(connection: duckdb.DuckDBPyConnection) -> str:
    """Hash of the columns of every table, so that an edit by hand is noticed."""
    rows = connection.execute(
        "SELECT c.table_name, c.column_name, c.data_type, c.is_nullable"
        " FROM duckdb_columns() AS c JOIN duckdb_tables() AS t USING (table_oid, database_name)"
        " WHERE NOT t.temporary AND c.database_name = current_database()"
        " ORDER BY c.table_name, c.column_index"
    ).fetchall()
    return hashlib.sha256(repr(rows).encode()).hexdigest()
