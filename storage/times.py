"""Times at the border of the history: aware and UTC, in and out."""

from datetime import UTC, datetime
from typing import overload

from recurring_eval.errors import InputError


@overload
def to_utc(moment: datetime, what: str) -> datetime: ...
@overload
def to_utc(moment: datetime | None, what: str) -> datetime | None: ...
def to_utc(moment: datetime | None, what: str) -> datetime | None:
    """Convert an aware time to UTC, to microseconds.

    Raises
    ------
    InputError
        If `moment` has no time zone; `what` names it.
    """
    if moment is None:
        return None
    if moment.utcoffset() is None:
        raise InputError(f"{what} {moment.isoformat()} has no time zone; give a time with one")
    return moment.astimezone(UTC)


@overload
def from_store(moment: datetime) -> datetime: ...
@overload
def from_store(moment: datetime | None) -> datetime | None: ...
def from_store(moment: datetime | None) -> datetime | None:
    """Give a stored time the plain `datetime.UTC` zone."""
    return None if moment is None else moment.astimezone(UTC)
