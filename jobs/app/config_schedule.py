"""What can be configured about nights, the daemon and watched folders."""

import re
from datetime import time, timedelta
from pathlib import Path
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from recurring_eval.records import RunPurpose

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def read_duration(value: object) -> object:
    """Read a duration such as ``30s``, ``10m``, ``36h`` or ``7d``.

    Raises
    ------
    ValueError
        If a text is none.
    """
    if isinstance(value, timedelta):
        return value
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("is not a duration such as 30s, 10m, 36h or 7d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _read_time_of_day(value: object) -> object:
    if isinstance(value, time):
        return value
    match = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", str(value))
    if match is None:
        raise ValueError("is not a time of day such as 02:00")
    return time(int(match[1]), int(match[2]))


Duration = Annotated[timedelta, BeforeValidator(read_duration)]
TimeOfDay = Annotated[time, BeforeValidator(_read_time_of_day)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NightSettings(_Section):
    """When a benchmark's nights start and how failures are retried.

    `[schedule]` holds them for all; `[defaults.schedule]` and
    `[benchmark.X.schedule]` say what differs.

    Attributes
    ----------
    enabled : bool
        Whether the scheduler recalibrates the benchmark at all.
    at : time
        The slot, in `zone`.
    zone : str
        IANA name. A night is keyed by the date it starts on in this zone.
    attempts : int
        Attempts of one night before it is given up.
    retry_after, longest_retry : timedelta
        Wait after the first failure, doubled after each further one, and its limit.
    catch_up_days : int
        How far back missed nights are still made up for.
    full_run_every : timedelta or None
        Planned time from one full run to the next; None plans none.
    full_run_command : tuple of str
        Program and arguments that start one, never given to a shell. The words
        ``{benchmark}``, ``{family}`` and ``{date}`` in them are replaced.
    full_run_timeout : timedelta
        The command is stopped after that.
    """

    enabled: bool = True
    at: TimeOfDay = time(2)
    zone: str = "UTC"
    attempts: int = Field(default=5, ge=1, le=100)
    retry_after: Duration = timedelta(minutes=10)
    longest_retry: Duration = timedelta(hours=6)
    catch_up_days: int = Field(default=30, ge=0, le=3660)
    full_run_every: Annotated[Duration, Field(ge=timedelta(days=1))] | None = None
    full_run_command: tuple[str, ...] = ()
    full_run_timeout: Duration = timedelta(hours=12)

    @field_validator("at")
    @classmethod
    def _plain_time(cls, at: time) -> time:
        if at.tzinfo is not None or at.second or at.microsecond:
            raise ValueError("is not a time of day in hours and minutes such as 02:00")
        return at

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            raise ValueError("is not a time zone such as UTC or Europe/Paris") from None
        return zone


class ScheduleSettings(NightSettings):
    """`[schedule]`: the daemon, and the nights of every benchmark.

    Attributes
    ----------
    check_every : timedelta
        How often the daemon checks the ledger, watched folders and commands.
    heartbeat_every : timedelta
    lease : timedelta
        How long a job may go on before another process may take it over.
    stop_within : timedelta
        A job that takes longer to finish after a request to stop is rolled back.
    report : bool
        Publish the page of a night after it.
    backup : bool
        Back the history up after the nights of a date.
    alert_after : timedelta
        A benchmark without a successful night for so long raises an alert.
    """

    check_every: Duration = timedelta(minutes=1)
    heartbeat_every: Duration = timedelta(minutes=5)
    lease: Duration = timedelta(minutes=30)
    stop_within: Duration = timedelta(seconds=20)
    report: bool = True
    backup: bool = True
    alert_after: Duration = timedelta(hours=36)


class WatchSettings(_Section):
    """`[[watch]]`: a folder whose new and changed files are imported.

    Attributes
    ----------
    path : Path
    benchmark, agent : str or None
    harness : str
    purpose : RunPurpose or None
    extend_bank : bool
        As the options of `recurring-eval import`.
    settle : timedelta
        A file is imported once it has not changed for so long.
    """

    path: Path
    benchmark: str | None = None
    agent: str | None = None
    harness: str = "auto"
    purpose: RunPurpose | None = None
    extend_bank: bool = False
    settle: Duration = timedelta(seconds=10)
