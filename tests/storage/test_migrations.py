"""The ledger of migrations, and schemas that are refused."""

from pathlib import Path

import duckdb
import pytest

from storage.file.errors import SchemaError
from storage.file.history import History
from storage.file.schema import Migration, apply_migrations, check_schema, shipped_migrations
from tests.storage.builders import NOW

HISTORY = Path("h")
ONE = Migration(version=1, name="one", sql="CREATE TABLE t (i INTEGER);")
TWO = Migration(version=2, name="two", sql="ALTER TABLE t ADD COLUMN j INTEGER;")
BROKEN = Migration(version=2, name="two", sql="CREATE TABLE u (i INTEGER); CREATE TABLE t (i INT);")


def ledger(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, str, str]]:
    query = "SELECT version, name, checksum FROM schema_migration ORDER BY version"
    return connection.execute(query).fetchall()


def edit(path: Path, sql: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(sql)


def test_shipped_migrations_are_numbered_without_gaps() -> None:
    migrations = shipped_migrations()
    assert [migration.version for migration in migrations] == [*range(1, len(migrations) + 1)]


def test_new_history_has_every_migration_in_its_ledger(history: History) -> None:
    history.close()
    with duckdb.connect(str(history.path)) as connection:
        rows = ledger(connection)
        times = connection.execute("SELECT DISTINCT applied_at FROM schema_migration").fetchall()
    assert rows == [(m.version, m.name, m.checksum) for m in shipped_migrations()]
    assert times == [(NOW,)]


def test_only_what_the_ledger_lacks_is_applied() -> None:
    connection = duckdb.connect()
    assert apply_migrations(connection, [ONE]) == [1]
    assert apply_migrations(connection, [ONE, TWO]) == [2]
    assert apply_migrations(connection, [ONE, TWO]) == []
    assert [version for version, _, _ in ledger(connection)] == [1, 2]
    check_schema(connection, HISTORY, migrations=[ONE, TWO])


def test_failing_migration_leaves_the_former_schema() -> None:
    connection = duckdb.connect()
    apply_migrations(connection, [ONE])
    with pytest.raises(duckdb.CatalogException):
        apply_migrations(connection, [ONE, BROKEN])
    assert [version for version, _, _ in ledger(connection)] == [1]
    check_schema(connection, HISTORY, migrations=[ONE])


def test_older_schema_is_refused_naming_both_versions() -> None:
    connection = duckdb.connect()
    apply_migrations(connection, [ONE])
    with pytest.raises(SchemaError, match=r"h has schema version 1, older than version 2.*migrate"):
        check_schema(connection, HISTORY, migrations=[ONE, TWO])


@pytest.mark.parametrize("read_only", [False, True])
def test_newer_schema_is_refused_naming_both_versions(history: History, read_only: bool) -> None:
    history.close()
    edit(history.path, "INSERT INTO schema_migration VALUES (99, 'later', 'x', 'y', NULL)")
    ours = shipped_migrations()[-1].version
    with pytest.raises(SchemaError, match=f"schema version 99, newer than version {ours}"):
        History.open(history.path, read_only=read_only)


def test_edited_migration_is_refused_naming_both_versions(history: History) -> None:
    history.close()
    edit(history.path, "UPDATE schema_migration SET checksum = 'other' WHERE version = 1")
    with pytest.raises(SchemaError, match=r"schema version \d+, but its migration 1 differs.*\d+"):
        History.open(history.path)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE verdict ADD COLUMN note VARCHAR",
        "ALTER TABLE alert ALTER COLUMN message DROP NOT NULL",
        "DROP TABLE estimate",
    ],
)
def test_tables_edited_by_hand_are_refused(history: History, sql: str) -> None:
    history.close()
    edit(history.path, sql)
    with pytest.raises(SchemaError, match="were edited outside recurring-eval"):
        History.open(history.path)


def test_view_of_an_analyst_does_no_harm(history: History) -> None:
    history.close()
    edit(history.path, "CREATE VIEW mine AS SELECT count(*) FROM verdict")
    History.open(history.path).close()


def test_line_endings_do_not_change_a_checksum() -> None:
    unix = Migration(version=1, name="x", sql="SELECT 1;\nSELECT 2;\n")
    windows = Migration(version=1, name="x", sql="SELECT 1;\r\nSELECT 2;\r\n")
    assert unix.checksum == windows.checksum
