"""Awkward descriptions -> subset -> selection -> a real evaluation of promptfoo -> import."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.jobs.command_line import invoke
from tests.roundtrip.environments import run_command
from tests.roundtrip.projects import calibrated, check_recognised, selected

pytestmark = pytest.mark.roundtrip

DESCRIPTIONS = [
    *("plain", "plain (again)", "plain.*", "plainXX", "^plain$", "a|b", "a", "b", "[x]", "x"),
    *("back\\slash", "\\d+", "123", "a{2}", "aa", "what?", "wha", "1+1", "11", "a/b", "$HOME"),
    *("größe", "日本語", "😀", "'single'", '"double"', "`x`", "two  spaces", "tab\there", "-x"),
    *("line\nbreak", "{{text}}", "a,b", "#1", "%41", "=SUM(A1)", "x" * 300, "A", "B", "q: (1)"),
]


def promptfoo_programs(folder: Path) -> Path:
    """Folder of the program; `EVALUATION_TOOLS` may name a folder that keeps it."""
    kept = os.environ.get("EVALUATION_TOOLS")
    home = Path(kept, "promptfoo") if kept else folder / "promptfoo"
    programs = home / "node_modules" / ".bin"
    if not (programs / "promptfoo").exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("needs npm")
        home.mkdir(parents=True, exist_ok=True)
        install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        result = subprocess.run(
            [*install, "promptfoo@0.121.20"], cwd=home, capture_output=True, text=True, check=False
        )
        if result.returncode:
            pytest.skip(f"promptfoo cannot be installed: {result.stderr.strip()[-200:]}")
    return programs


def test_awkward_descriptions_come_back_as_the_subset(folder, tmp_path_factory, monkeypatch):
    programs = promptfoo_programs(tmp_path_factory.getbasetemp())
    monkeypatch.setenv("PROMPTFOO_CONFIG_DIR", str(folder / ".promptfoo"))
    for name in ("TELEMETRY", "UPDATE", "REMOTE_GENERATION"):
        monkeypatch.setenv(f"PROMPTFOO_DISABLE_{name}", "1")
    keys = [f"q-{number:02d}" for number in range(len(DESCRIPTIONS))]
    tests = [
        {
            "description": description,
            "vars": {"id": key, "answer": "yes" if len(description) % 2 else "no"},
            "assert": [{"type": "equals", "value": "yes"}],
        }
        for key, description in zip(keys, DESCRIPTIONS, strict=True)
    ]
    config = {"prompts": ["{{answer}}"], "providers": ["echo"], "tests": tests}
    (folder / "config.json").write_text(json.dumps(config))
    calibrated(folder, keys, "evals")
    # Status 100 says that tests failed.
    fails = " || [ $? -eq 100 ]"
    run_command(f"promptfoo eval -c config.json --no-cache -o full.json{fails}", programs, folder)
    outcome = invoke("import", folder / "full.json", "--json")
    assert outcome.code == 0, outcome.err
    asked = selected(folder, "promptfoo", 25, "evals")
    command = asked["command"].replace("CONFIG", "config.json")
    run_command(command + fails, programs, folder)
    (report,) = folder.glob("subset.*.json")
    (folder / "logs").mkdir()
    report.rename(folder / "logs" / "renamed.json")
    check_recognised(folder, folder / "logs", asked)
