"""Public response matrices that lie beside the repository, not in it."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def shared_path(relative: str) -> Path:
    """Path of a file under ``<repository>/../shared``; skips the test where it is absent."""
    path = REPOSITORY.parent / "shared" / relative
    if not path.exists():
        pytest.skip(f"needs {relative} in a folder `shared` beside the repository")
    return path
