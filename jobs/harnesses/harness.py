"""What a reader of an evaluation tool's logs is."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

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


class LargeLog(Protocol):
    """A log of which everything but the verdicts is known, read some runs at a time."""

    @property
    def questions(self) -> Mapping[str | None, frozenset[str]]:
        """Questions by benchmark; None where the log names none."""
        ...

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        ...

    def read_parts(self, options: ReadOptions, *, harness: str) -> Iterator[LogFile]:
        """Read the runs, each in one part and whole.

        Raises
        ------
        InputError
            As `Harness.read`, when the wrong part is met.
        """
        ...


@runtime_checkable
class StreamingHarness(Harness, Protocol):
    """Also reads logs that are too large for memory."""

    def open_large(self, path: Path) -> LargeLog | None:
        """Survey a large log; None if it can be read at once.

        Raises
        ------
        InputError
            As `Harness.read`.
        """
        ...

    def is_large(self, path: Path) -> bool:
        """Whether `open_large` would survey the file; never raises InputError."""
        ...
