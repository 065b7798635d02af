"""Projects to work in: fresh, with runs, and calibrated."""

from pathlib import Path

import pytest

from tests.jobs.histories import (
    AS_OF,
    initialised,
    logs,
    night_of,
    start,
    until,
    without_settings,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no settings from outside."""
    without_settings(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Path:
    """A working directory in which `recurring-eval init` was run."""
    return initialised(folder)


@pytest.fixture
def imported(folder: Path) -> Path:
    """A project with 16 simulated days of runs, not calibrated; the working directory."""
    return start(folder, logs())


@pytest.fixture
def calibrated(folder: Path) -> Path:
    """The same project, calibrated for its tenth day; the working directory."""
    return start(folder, logs(), nights=[AS_OF])


@pytest.fixture
def checkable(folder: Path) -> Path:
    """The calibrated project with the runs of two later days only, quick to check."""
    return start(folder, until(night_of(12), logs()), nights=[AS_OF])
