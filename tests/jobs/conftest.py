"""A fresh project to work in."""

import os
from pathlib import Path

import pytest

from tests.jobs.command_line import invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no settings from outside."""
    for name in os.environ:
        if name.startswith("RECURRING_EVAL_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Path:
    """A working directory in which `recurring-eval init` was run."""
    assert invoke("init", "--quiet").code == 0
    return folder
