"""`init` makes a project once."""

import tomllib
from datetime import UTC, datetime

from jobs.clock import FixedClock
from jobs.upkeep.start_project import start_project
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names
from tests.jobs.command_line import invoke, one_error_line


def test_init_writes_a_readable_configuration_and_an_empty_history(folder):
    outcome = invoke("init", "--dir", folder / "new" / "deep", "--json")
    assert outcome.code == 0
    assert tomllib.loads((folder / "new/deep/recurring-eval.toml").read_text())["seed"] == 0
    with History.open(outcome.document["history"], read_only=True) as history:
        assert benchmark_names(history) == []


def test_init_refuses_to_overwrite_either_file(project):
    assert "recurring-eval.toml exists already" in one_error_line(invoke("init"))
    (project / "recurring-eval.toml").unlink()
    assert "history.duckdb exists already" in one_error_line(invoke("init"))
    assert not (project / "recurring-eval.toml").exists()


def test_init_in_a_place_that_is_a_file(folder):
    (folder / "x").write_text("")
    assert "cannot start a project" in one_error_line(invoke("init", "--dir", folder / "x"))


def test_the_history_opens_where_the_configuration_says(folder):
    started = start_project(folder / "p", now=FixedClock(datetime(2026, 11, 29, tzinfo=UTC)).now())
    assert started.history.parent == started.config.parent == folder / "p"
