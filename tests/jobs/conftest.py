"""Projects to work in: fresh, with runs, and calibrated."""

import shutil
from pathlib import Path

import pytest

from tests.jobs.command_line import invoke
from tests.jobs.histories import AS_OF, command, logs, start, without_settings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no settings from outside."""
    without_settings(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Path:
    """A working directory in which `recurring-eval init` was run."""
    assert invoke("init", "--quiet").code == 0
    return folder


@pytest.fixture(scope="session")
def _templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    with pytest.MonkeyPatch.context() as patch:
        without_settings(patch)
        imported = start(tmp_path_factory.mktemp("imported"), logs())
        calibrated = tmp_path_factory.mktemp("calibrated") / "project"
        shutil.copytree(imported, calibrated)
        command(calibrated, "recalibrate", "--as-of", str(AS_OF), "--no-report")
    return {"imported": imported, "calibrated": calibrated}


@pytest.fixture
def imported(_templates: dict[str, Path], folder: Path) -> Path:
    """A project with 16 simulated days of runs, not calibrated; the working directory."""
    shutil.copytree(_templates["imported"], folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def calibrated(_templates: dict[str, Path], folder: Path) -> Path:
    """The same project, calibrated for its tenth day; the working directory."""
    shutil.copytree(_templates["calibrated"], folder, dirs_exist_ok=True)
    return folder
