"""Values on their way into tables: times in UTC, columns, and names of new things."""

from collections.abc import Mapping, Sized
from datetime import UTC, datetime
from typing import overload

import pyarrow as pa

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


def columns(values: Mapping[str, object]) -> pa.Table:
    """Table of columns by name; a single number, text or time stands for every row.

    At least one of the columns must be a sequence.
    """
    whole = {name for name, value in values.items() if _is_column(value)}
    made = {name: pa.array(value) for name, value in values.items() if name in whole}
    n = len(next(iter(made.values())))
    return pa.table(
        {
            name: made[name] if name in whole else pa.repeat(pa.scalar(value), n)
            for name, value in values.items()
        }
    )


def _is_column(value: object) -> bool:
    return isinstance(value, Sized) and not isinstance(value, str)
