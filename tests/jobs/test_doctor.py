"""The check-up, and the commands that keep a history safe, as users meet them."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobs.upkeep.own_packages import foreign_packages
from storage.file.history import History
from storage.ledger import take_lease
from tests.jobs.command_line import invoke, one_error_line, write_runs_csv
from tests.storage.damage import flip, truncate


@pytest.fixture
def imported(project: Path) -> Path:
    runs = {f"r{number}": {f"q{q}": "pass" for q in range(5)} for number in range(3)}
    write_runs_csv(project / "runs.csv", runs)
    assert invoke("import", "runs.csv", "--create", "--quiet").code == 0
    return project


def checks(*arguments: str, code: int = 0) -> dict[str, dict[str, str]]:
    outcome = invoke("doctor", "--json", *arguments)
    assert outcome.code == code, outcome
    assert outcome.document["ok"] is (code == 0)
    return {check["name"]: check for check in outcome.document["checks"]}


def test_healthy_history_has_only_the_backup_to_wish_for(imported: Path) -> None:
    found = checks()
    assert {name for name, check in found.items() if check["status"] != "ok"} == {"backups"}
    assert found["backups"]["advice"] == "run `recurring-eval backup`, every night"
    assert "3 runs with 15 verdicts fit their checksums" in found["integrity"]["detail"]
    assert invoke("backup").code == 0
    assert {check["status"] for check in checks().values()} == {"ok"}
    text = invoke("doctor")
    assert text.code == 0
    assert "FAULT" not in text.out


def test_damage_is_a_fault_and_restore_ends_it(imported: Path) -> None:
    history = imported / "history.duckdb"
    backup = invoke("backup", "--json").document["backup"]
    truncate(history, history.stat().st_size // 2)
    found = checks(code=1)
    assert found["history"]["status"] == "FAULT"
    assert "recurring-eval restore" in found["history"]["detail"]
    assert Path(backup).name in found["history"]["detail"]
    assert "recurring-eval restore" in one_error_line(invoke("status"))
    done = invoke("restore", "last", "--json").document
    assert done["backup"] == backup
    assert len(done["set_aside"]) == 2
    found = checks()
    assert found["integrity"]["status"] == "ok"
    assert "restored from" in found["losses"]["detail"]
    assert "history.aside" in found["leftovers"]["detail"]


def test_lost_commits_are_given_up_only_with_a_reason(imported: Path) -> None:
    history = imported / "history.duckdb"
    old = history.read_bytes()
    write_runs_csv(imported / "more.csv", {"late": {f"q{q}": "fail" for q in range(5)}})
    assert invoke("import", "more.csv", "--quiet").code == 0
    history.write_bytes(old)
    error = one_error_line(invoke("status"))
    assert "has lost commits" in error
    assert "run +1, verdict +5" in error
    assert "--accept-loss" in error
    assert "there is no backup" in error
    assert "--accept-loss needs the reason" in one_error_line(
        invoke("doctor", "--accept-loss", " ")
    )
    found = checks("--accept-loss", "disk swapped")
    assert "disk swapped" in found["losses"]["detail"]
    assert invoke("import", "more.csv", "--json").document["runs_added"] == 1
    assert invoke("doctor").code == 0


def test_changed_bytes_are_noted_even_where_no_row_is(imported: Path) -> None:
    history = imported / "history.duckdb"
    with history.open("ab") as file:
        file.write(b"\0" * 262_144)
    outcome = invoke("status")
    assert outcome.code == 0
    assert "note: history.duckdb: history.duckdb was changed since it was last clo" in outcome.err
    assert "is whole" in outcome.err
    assert "note" not in invoke("status").err


def test_damaged_backup_and_unfinished_job_are_told(imported: Path) -> None:
    backup = Path(invoke("backup", "--json").document["backup"])
    flip(backup, 20_000)
    now = datetime.now(UTC) - timedelta(days=1)
    with History.open(imported / "history.duckdb") as history, history.transaction():
        take_lease(
            history,
            job="recalibrate",
            benchmark="b",
            family="main",
            date=now.date(),
            owner="x",
            now=now,
            lease_for=timedelta(hours=1),
        )
    found = checks(code=1)
    assert found["backups"]["status"] == "FAULT"
    assert "has changed since it was written" in found["backups"]["detail"]
    assert found["leases"]["status"] == "warning"
    assert "recalibrate b main" in found["leases"]["detail"]


def test_clock_behind_the_records_is_told(imported: Path) -> None:
    with History.open(imported / "history.duckdb") as history, history.transaction():
        history.execute("UPDATE run SET imported_at = now() + INTERVAL 3 DAY")
    found = checks()
    assert found["time"]["status"] == "warning"
    assert "set this machine's clock" in found["time"]["advice"]


def test_foreign_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert foreign_packages() == []
    theirs = tmp_path / "reports"
    theirs.mkdir()
    (theirs / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "reports"]:
        monkeypatch.delitem(sys.modules, name)
    (problem,) = foreign_packages()
    assert problem.startswith(f"package `reports` resolves to {theirs}, not to ")


def test_restore_without_a_name_lists_the_backups(project: Path) -> None:
    assert "there is none in" in one_error_line(invoke("restore"))
    name = Path(invoke("backup", "--json").document["backup"]).name
    assert name in one_error_line(invoke("restore"))
    assert name in one_error_line(invoke("restore", "nonsense"))
    assert invoke("restore", name.removesuffix(".duckdb"), "--quiet").code == 0


def test_backups_are_kept_as_configured_or_told(project: Path) -> None:
    config = project / "recurring-eval.toml"
    config.write_text(config.read_text().replace("keep_backups = 14", "keep_backups = 2"))
    for _ in range(3):
        assert invoke("backup", "--quiet").code == 0
    folder = project / "recurring-eval-backups"
    assert len(list(folder.glob("*.duckdb"))) == 2
    assert invoke("backup", "--keep", "1", "--to", "elsewhere", "--quiet").code == 0
    assert len(list((project / "elsewhere").glob("*.duckdb"))) == 1
    assert len(list(folder.glob("*.duckdb"))) == 2


def test_migrate_export_compact_and_revisions(imported: Path) -> None:
    document = invoke("migrate", "--json").document
    assert document["before"] == document["after"]
    write_runs_csv(imported / "runs.csv", {"r0": {"q1": "fail"}})
    assert invoke("import", "runs.csv", "--replace", "--quiet").code == 0
    (revision,) = invoke("revisions", "r0", "--json").document["revisions"]
    assert (revision["question_id"], revision["old"], revision["new"]) == ("q1", "pass", "fail")
    assert "q1 trial 1: pass -> fail" in invoke("revisions", "r0").out
    assert invoke("revisions", "r1").out == "No verdict of this run was replaced.\n"
    tables = {t["table"]: t for t in invoke("export", "out", "--json").document["tables"]}
    assert tables["verdicts"]["n_rows"] == 15
    assert "choose from parquet, csv" in one_error_line(invoke("export", "out", "--format", "x"))
    assert "is a file" in one_error_line(invoke("export", "runs.csv"))
    assert invoke("compact", "--json").document["after"] > 0
    assert invoke("doctor").code == 0


def test_retain_moves_what_is_old(imported: Path) -> None:
    assert "verdicts_days" in one_error_line(invoke("retain"))
    moved = invoke("retain", "--days", "1", "--json").document
    assert (moved["n_runs"], moved["n_verdicts"]) == (3, 15)
    assert invoke("retain", "--days", "1", "--json").document["n_runs"] == 0
    found = checks()
    assert "3 in archives" in found["integrity"]["detail"]
