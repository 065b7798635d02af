"""The evaluation tools whose logs can be read."""

from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness
from jobs.harnesses.long_table import LongTable
from recurring_eval.errors import InputError

AUTO: Final = "auto"

HARNESSES: Final[tuple[Harness, ...]] = (LongTable(),)
"""Tried in this order; the last one is asked when no other expects a file."""


def harness_names() -> list[str]:
    """Names accepted by `harness_for`."""
    return [AUTO, *(harness.name for harness in HARNESSES)]


def harness_for(name: str, path: Path) -> Harness:
    """Reader of that name, or for ``auto`` the first that expects the file.

    Raises
    ------
    InputError
        If there is no such reader.
    """
    if name == AUTO:
        return next((h for h in HARNESSES if h.expects(path)), HARNESSES[-1])
    for harness in HARNESSES:
        if harness.name == name:
            return harness
    raise InputError(f"no harness is called {name!r}; choose from {', '.join(harness_names())}")


def is_expected(name: str, path: Path) -> bool:
    """Whether a file found in a folder should be imported."""
    return any(h.expects(path) for h in HARNESSES if name in (AUTO, h.name))
