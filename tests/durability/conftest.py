"""Processes to kill, and histories for them."""

import multiprocessing
import os
import shutil
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

from tests.durability.work import CONFIG, do_backup, do_import
from tests.jobs.command_line import invoke

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def processes() -> BaseContext:
    """Start processes quickly: everything is imported once, before they part."""
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.durability.work"])
    return context


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    assert invoke("init", "--dir", folder, "--quiet").code == 0
    (folder / "recurring-eval.toml").write_text(CONFIG)
    for number in range(6):
        do_import(folder, number)
    do_backup(folder, 0)
    return folder


@pytest.fixture
def folder(_template: Path, tmp_path: Path) -> Path:
    """A project with twelve runs and a backup."""
    shutil.copytree(_template, tmp_path / "project")
    return tmp_path / "project"
