"""What a reader of an evaluation tool's logs is."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from recurring_eval.errors import InputError
from recurring_eval.records import RunLog


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read what a log leaves open.

    Attributes
    ----------
    agent : str or None
        Agent of every run, in place of the log's own.
    threshold : float or None
        A numeric score of at least this much is a pass; without it only 0 and 1 are verdicts.
    timezone : str or None
        IANA name of the zone of times written without one; without it they are UTC.
    """

    agent: str | None = None
    threshold: float | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError(f"the threshold {self.threshold} is not a finite number")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """What one log holds.

    Attributes
    ----------
    runs : tuple of RunLog
        At least one.
    notes : tuple of str
        What the reader decided or dropped, one line each.
    """

    runs: tuple[RunLog, ...]
    notes: tuple[str, ...]


class Harness(Protocol):
    """Reads the logs of one evaluation tool."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        ...

    def expects(self, path: Path) -> bool:
        """Whether a file met in a folder looks like one of its logs."""
        ...

    def read(self, path: Path, options: ReadOptions) -> LogFile:
        """Read a file.

        Raises
        ------
        InputError
            Saying what is wrong and in which line or row; the file's name is left out.
        """
        ...
