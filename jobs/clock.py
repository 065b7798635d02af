"""The only place that reads a clock."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still, for tests and simulated nights.

    Attributes
    ----------
    at : datetime
        Aware; returned in UTC.
    """

    at: datetime

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("`at` must be an aware datetime")

    def now(self) -> datetime:
        """Return the fixed time, aware, in UTC."""
        return self.at.astimezone(UTC)


def cpu_seconds() -> float:
    """CPU seconds this process has used."""
    return time.process_time()


def elapsed_seconds() -> float:
    """Seconds since some moment of this process, never going back."""
    return time.monotonic()
