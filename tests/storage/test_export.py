"""Tables as files."""

import csv
from pathlib import Path

import duckdb
import pytest

from recurring_eval.records import Bank
from storage.export import INTERNAL, export_tables
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.runs.write_runs import write_runs
from tests.storage.builders import NOW, START, days, log

FORMULAS = ("=1+1", "+cmd", "-2", "@SUM(A1)", "\tx", "plain")


@pytest.fixture
def history(tmp_path: Path):
    with History.create(tmp_path / "history.duckdb", now=NOW) as opened:
        keys = tuple(sorted(FORMULAS))
        with opened.transaction():
            create_benchmark(opened, "=bench", now=NOW)
            bank = Bank(benchmark="=bench", question_ids=keys, content_hashes=("",) * len(keys))
            save_bank(opened, bank, now=NOW)
            verdicts = [(key, 1, number % 2) for number, key in enumerate(keys)]
            verdicts[0] = (verdicts[0][0], 1, "timeout")
            first = log("@run", verdicts, benchmark="=bench", tags=("=tag", "other"))
            write_runs(opened, "=bench", [first], imported_at=NOW)
        with opened.transaction():
            changed = log("@run", {keys[1]: 0}, benchmark="=bench", tags=("=tag", "other"))
            write_runs(opened, "=bench", [changed], imported_at=NOW + days(1), replace=True)
        yield opened


def test_verdicts_name_things_as_users_do(history: History, tmp_path: Path) -> None:
    tables = export_tables(history, tmp_path / "out")
    rows = duckdb.sql(
        "SELECT benchmark, run_id, question_id, trial, verdict, reason"
        f" FROM read_parquet('{tmp_path}/out/verdicts.parquet')"
    ).fetchall()
    keys = sorted(FORMULAS)
    assert rows == [
        ("=bench", "@run", keys[0], 1, "missing", "timeout"),
        ("=bench", "@run", keys[1], 1, "fail", None),
        ("=bench", "@run", keys[2], 1, "fail", None),
        ("=bench", "@run", keys[3], 1, "pass", None),
        ("=bench", "@run", keys[4], 1, "fail", None),
        ("=bench", "@run", keys[5], 1, "pass", None),
    ]
    stored = {name for (name,) in history.rows("SELECT table_name FROM duckdb_tables()")}
    renamed = {"verdict": "verdicts", "verdict_revision": "verdict_revisions", "run": "runs"}
    expected = {renamed.get(name, name) for name in stored - INTERNAL}
    assert {table.table for table in tables} == expected
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        f"{name}.parquet" for name in expected
    }
    counts = {table.table: table.n_rows for table in tables}
    assert (counts["verdicts"], counts["runs"], counts["verdict_revisions"]) == (6, 1, 1)
    (run,) = duckdb.sql(
        f"SELECT run_id, started_at, tags FROM read_parquet('{tmp_path}/out/runs.parquet')"
    ).fetchall()
    assert (run[0], run[1], run[2]) == ("@run", START, ["=tag", "other"])


def test_formulas_in_csv_are_text(history: History, tmp_path: Path) -> None:
    export_tables(history, tmp_path / "out", format="csv")
    for file in (tmp_path / "out").iterdir():
        with file.open(newline="") as opened:
            cells = [cell for row in csv.reader(opened) for cell in row]
        assert not [cell for cell in cells if cell[:1] in "=+@\t" and cell], file
    with (tmp_path / "out" / "verdicts.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["question_id"] for row in rows] == [
        key if key == "plain" else f"'{key}" for key in sorted(FORMULAS)
    ]
    with (tmp_path / "out" / "runs.csv").open(newline="") as opened:
        (run,) = csv.DictReader(opened)
    assert run["tags"] == "'=tag;other"
    assert run["pass_rate"] == "0.4"


def test_export_again_replaces_its_own_files_only(history: History, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    export_tables(history, out)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    export_tables(history, out)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match=r"file.*cannot be written"):
        export_tables(history, tmp_path / "file" / "below")
