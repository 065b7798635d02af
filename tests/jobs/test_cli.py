"""What holds for every command."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from jobs import cli
from jobs.cli import COMMANDS
from recurring_eval.errors import FitError
from tests.jobs.command_line import invoke, one_error_line

SCRIPT = Path(sys.executable).with_name("recurring-eval")


def test_help_names_every_command():
    outcome = invoke("--help")
    assert outcome.code == 0
    for name, _ in COMMANDS:
        assert f"\n  {name} " in outcome.out


def every_command() -> list[list[str]]:
    words = []
    for name, command in COMMANDS:
        if isinstance(command, typer.Typer):
            words += [[name, str(sub.name)] for sub in command.registered_commands]
        else:
            words.append([name])
    return words


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_has_the_shared_options(words):
    outcome = invoke(*words, "--help")
    assert outcome.code == 0
    for option in ("--config", "--json", "--quiet"):
        assert option in outcome.out


def test_help_is_fast_and_imports_nothing_heavy():
    code = (
        "import sys, jobs.cli; "
        "heavy = {'numpy', 'pandas', 'scipy', 'duckdb', 'pyarrow', 'pydantic', 'rich', 'altair'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.benchmark
def test_help_takes_less_than_half_a_second():
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([SCRIPT, "--help"], check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5


def test_no_command_and_unknown_options_are_usage_errors():
    assert invoke("no-such-command").code == 2
    assert invoke("init", "--no-such-option").code == 2


def test_shared_options_may_stand_before_the_command(folder):
    before = invoke("--json", "--config", folder / "a" / "recurring-eval.toml", "init")
    assert before.code == 0
    assert before.document["config"] == str(folder / "a" / "recurring-eval.toml")
    after = invoke("init", "--json", "--dir", folder / "b")
    assert set(after.document) == set(before.document) == {"config", "history"}


def test_version():
    outcome = invoke("--version")
    assert outcome.code == 0
    assert outcome.out.strip()[0].isdigit()


def test_a_wrong_configuration_is_one_line_and_an_empty_stdout(project):
    (project / "recurring-eval.toml").write_text("histroy = 'x'\n")
    outcome = invoke("import", "x.csv", "--json")
    assert "`histroy`; did you mean `history`?" in one_error_line(outcome)
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (FitError("no\nconvergence"), "error: no convergence"),
        (OSError(28, "No space left on device", "/x"), "error: /x: No space left on device"),
        (ZeroDivisionError("boom"), "error: unexpected ZeroDivisionError: boom"),
    ],
)
def test_errors_become_one_line(project, monkeypatch, error, shown):
    def broken(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr("jobs.importing.import_runs.import_runs", broken)
    outcome = invoke("import", "x.csv")
    assert one_error_line(outcome).startswith(shown)
    assert outcome.out == ""


def test_debugging_lets_the_traceback_through(project, monkeypatch):
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("jobs.importing.import_runs.import_runs", broken)
    monkeypatch.setenv("RECURRING_EVAL_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        invoke("import", "x.csv")


def test_the_installed_script_fails_with_status_one(folder):
    if not SCRIPT.exists():
        pytest.skip("the console script is not installed beside this Python")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RECURRING_EVAL_")}
    done = subprocess.run(
        [SCRIPT, "import", "x.csv"], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: no recurring-eval.toml")


def test_commands_are_registered_once():
    names = [name for name, _ in COMMANDS]
    assert len(set(names)) == len(names)
    assert cli.app.info.name == "recurring-eval"
