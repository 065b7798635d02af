"""Dates given on the command line."""

from datetime import UTC, date, datetime, time

from recurring_eval.errors import InputError


def read_date(text: str, option: str) -> date:
    """Read an ISO date.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text!r} is not a date; write it as 2026-11-29") from None


def start_of(text: str, option: str) -> datetime:
    """First instant (UTC) of an ISO date."""
    return datetime.combine(read_date(text, option), time(), tzinfo=UTC)
