"""Dates given on the command line."""

from datetime import UTC, date, datetime, time
from typing import Final

from recurring_eval.errors import InputError

_FIRST_YEAR: Final = 1970


def read_date(text: str, option: str) -> date:
    """Read an ISO date.

    Raises
    ------
    InputError
        If it is none, or before 1970, where no run can be.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text!r} is not a date; write it as 2026-11-29") from None
    if day.year < _FIRST_YEAR:
        raise InputError(f"{option} {text} is before {_FIRST_YEAR}; no run is that old")
    return day


def start_of(text: str, option: str) -> datetime:
    """First instant (UTC) of an ISO date."""
    return datetime.combine(read_date(text, option), time(), tzinfo=UTC)
