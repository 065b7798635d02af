"""Evaluation tools in environments of their own.

`EVALUATION_TOOLS` may name a folder with an environment per tool
(``inspect``, ``lm-eval``...), which is made there when missing; otherwise each
is made for the test run and thrown away.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest


def tool_environment(folder: Path, tool: str, *requirements: str) -> Path:
    """Folder with the programs of a tool; skips the test if it cannot be installed."""
    kept = os.environ.get("EVALUATION_TOOLS")
    home = Path(kept, tool) if kept else folder / tool
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    done = home / "installed"
    if not done.exists():
        venv.create(home, with_pip=True)
        install = [programs / "python", "-m", "pip", "install", "--quiet", *requirements]
        result = subprocess.run(install, capture_output=True, text=True, check=False)
        if result.returncode:
            pytest.skip(f"{tool} cannot be installed: {result.stderr.strip()[-200:]}")
        done.touch()
    return programs


def run_command(command: str, programs: Path, folder: Path) -> str:
    """Run a printed command line as a user would, in a shell; returns what it printed."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INSPECT_", "PYTHON"))
    }
    environment["PATH"] = f"{programs}{os.pathsep}{environment.get('PATH', '')}"
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "NO_COLOR": "1"}
    result = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    output = result.stdout + result.stderr
    assert result.returncode == 0, f"{command}\n{output[-3000:]}"
    return output
