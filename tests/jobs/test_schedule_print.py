"""What `schedule print` writes for systemd and cron, checked by their own tools where there."""

import re
import shlex
import shutil
import subprocess

import pytest

from jobs.schedule import external_schedulers as module
from tests.jobs.command_line import invoke, one_error_line

ODD = 'a "b" $HOME 50% c'


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "bin" / "recurring-eval"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(module.sys, "executable", str(path.with_name("python")))
    return path


@pytest.fixture
def odd_project(folder):
    assert invoke("init", "--quiet", "--dir", folder / ODD).code == 0
    path = folder / ODD / "recurring-eval.toml"
    path.write_text(
        path.read_text() + "[benchmark.x.schedule]\nat = '04:30'\nzone = 'Europe/Paris'\n"
    )
    return path


def test_the_crontab_line_is_one_command_with_its_arguments(program, odd_project):
    outcome = invoke("schedule", "print", "cron", "--config", odd_project)
    line = next(line for line in outcome.out.splitlines() if not line.startswith("#"))
    fields = re.fullmatch(r"(0 \* \* \* \*) (.*)", line)
    assert fields is not None
    assert not re.search(r"(?<!\\)%", fields[2])
    words = shlex.split(fields[2].replace(r"\%", "%"))
    assert words == [str(program), "schedule", "--once", "--config", str(odd_project)]


def test_the_systemd_units_hold_for_systemd(program, odd_project, tmp_path):
    outcome = invoke("schedule", "print", "systemd", "--config", odd_project)
    service, timer = re.split(r"(?m)^# .*\.timer;.*$", outcome.out)
    assert "OnCalendar=*-*-* 02:00:00 UTC" in timer
    assert "OnCalendar=*-*-* 04:30:00 Europe/Paris" in timer
    assert "Persistent=true" in timer
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed")
    units = tmp_path / "units"
    units.mkdir()
    (units / "recurring-eval.service").write_text(service)
    (units / "recurring-eval.timer").write_text(timer)
    checked = subprocess.run(
        [
            tool,
            "verify",
            "--man=no",
            units / "recurring-eval.service",
            units / "recurring-eval.timer",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in checked.stderr.splitlines() if "recurring-eval" in line]
    assert ours == []
    for expression in re.findall(r"OnCalendar=(.*)", timer):
        subprocess.run([tool, "calendar", expression], capture_output=True, check=True)


def test_other_words_are_refused(project):
    assert "choose from systemd, cron" in one_error_line(invoke("schedule", "print", "windows"))
    assert invoke("schedule", "print").code == 2
    assert invoke("schedule", "paint", "cron").code == 2


def test_a_schedule_needs_its_configuration_file(folder, monkeypatch):
    monkeypatch.setenv("RECURRING_EVAL_HISTORY", str(folder / "h.duckdb"))
    assert "recurring-eval init" in one_error_line(invoke("schedule", "print", "cron"))
