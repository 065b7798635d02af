"""A separate virtual environment with the peers from PyPI."""

import json
import os
import subprocess
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
WORKERS = Path(__file__).resolve().parent / "workers"

PEERS = {
    "girth": (("girth",),),
    "py-irt": (("torch==2.13.0", "py-irt"), ("py-irt",)),
    "catsim": (("catsim",),),
    "adaptivetesting": (("adaptivetesting",),),
}
"""What to install for each peer; the next way is tried where the one before fails.

py-irt needs torch, and one version of it keeps its times comparable.
"""

VERSIONS = """
import json, sys
from importlib import metadata
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[name] = None
print(json.dumps(found))
"""


class PeersError(Exception):
    """The environment cannot be made or used."""


def interpreter(folder: Path) -> Path:
    """Python of a virtual environment."""
    inside = Path("Scripts/python.exe") if os.name == "nt" else Path("bin/python")
    return folder / inside


def build_environment(folder: Path) -> None:
    """Make the environment and install each peer; a refusal is written down, not raised."""
    if folder.resolve().is_relative_to(REPOSITORY):
        raise PeersError(f"{folder} lies inside the repository; choose a folder outside it")
    venv.create(folder, with_pip=True, clear=False)
    refusals = {}
    for peer, ways in PEERS.items():
        for packages in ways:
            reason = _install(folder, packages)
            if reason is None:
                break
        if reason is not None:
            refusals[peer] = reason
    _refusals_file(folder).write_text(json.dumps(refusals, indent=1), encoding="utf-8")


def installed(folder: Path) -> dict[str, str | None]:
    """Version of each peer, None where it is absent."""
    python = interpreter(folder)
    if not python.exists():
        raise PeersError(f"{folder} has no {python.relative_to(folder)}; build the environment")
    done = subprocess.run(
        [python, "-c", VERSIONS, *PEERS, "torch"], capture_output=True, text=True, check=True
    )
    versions: dict[str, str | None] = json.loads(done.stdout)
    return versions


def refusals(folder: Path) -> dict[str, str]:
    """Why a peer could not be installed, where that is known."""
    path = _refusals_file(folder)
    reasons: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return reasons


def last_line(text: str) -> str:
    """The line that says what went wrong: pip's last ERROR, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no message"])[-1]


def _install(folder: Path, packages: tuple[str, ...]) -> str | None:
    """None when it went well, else the reason."""
    command = [interpreter(folder), "-m", "pip", "install", "--quiet", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else last_line(done.stderr)


def _refusals_file(folder: Path) -> Path:
    return folder / "peers-not-installed.json"
