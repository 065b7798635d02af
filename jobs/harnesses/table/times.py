"""Times as microseconds since 1970 in UTC."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.harnesses.table.columns import Column, RawTable
from recurring_eval.errors import InputError

NO_TIME: Final = np.iinfo(np.int64).min
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EARLIEST: Final = (datetime(1970, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LATEST: Final = (datetime(2200, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_EPOCH_NUMBER: Final = re.compile(r"\d{10}(\.\d+)?|\d{13}")
_EPOCH_UNITS: Final = ((1e8, 1e11, 1_000_000), (1e11, 1e14, 1_000), (1e14, 1e17, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Time of each row.

    Attributes
    ----------
    microseconds : ndarray of int64, shape (n_rows,)
        Since 1970, UTC; `NO_TIME` where the cell is empty.
    notes : tuple of str
    """

    microseconds: NDArray[np.int64]
    notes: tuple[str, ...]


def read_times(table: RawTable, column: Column, timezone: str | None) -> Times:
    """Read a column of times.

    Understood are ISO 8601 text, Parquet times and dates, and seconds, milli- or
    microseconds since 1970. A time without a zone is in `timezone`, by default
    UTC (then there is a note); a date alone is its midnight.

    Raises
    ------
    InputError
        Naming the line of a time that cannot be read, or an unknown zone.
    """
    zone = _zone(timezone)
    values, naive = _fast(column.values, zone)
    if values is None:
        values, naive = _one_by_one(table, column, zone)
    wrong = (values != NO_TIME) & ((values < _EARLIEST) | (values > _LATEST))
    if wrong.any():
        place = table.place(column.first_row(int(np.flatnonzero(wrong)[0])))
        raise InputError(f"{place}, column `{column.name}`: the year is not between 1970 and 2200")
    notes: tuple[str, ...] = ()
    if naive and zone is None:
        notes = (f"times in `{column.name}` have no zone; read as UTC (--timezone says otherwise)",)
    return Times(microseconds=column.take(values, NO_TIME), notes=notes)


def _zone(timezone: str | None) -> ZoneInfo | None:
    if timezone is None:
        return None
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(
            f"unknown time zone {timezone!r}; give a name such as Europe/Berlin"
        ) from None


def _fast(values: Any, zone: ZoneInfo | None) -> tuple[NDArray[np.int64] | None, bool]:  # noqa: ANN401  # Arrow has no types
    """Whole-array reading where all values are alike; (None, False) where they are not."""
    if isinstance(values, tuple):
        if not all(isinstance(value, str) for value in values):
            return None, False
        values = pa.array(values, pa.string())
    kind = values.type
    try:
        if pa.types.is_string(kind):
            return _microseconds(values.cast(pa.timestamp("us", "UTC"))), False
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            return _microseconds(values.cast(pa.timestamp("us", kind.tz), safe=False)), False
        if zone is None and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            is_naive = pa.types.is_timestamp(kind)
            return _microseconds(values.cast(pa.timestamp("us"), safe=False)), is_naive
    except pa.ArrowInvalid:
        pass  # mixed, or not ISO 8601: one by one finds out which
    return None, False


def _microseconds(values: pa.Array) -> NDArray[np.int64]:
    whole = pc.fill_null(values.cast(pa.int64()), NO_TIME)
    return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=np.int64)


def _one_by_one(
    table: RawTable, column: Column, zone: ZoneInfo | None
) -> tuple[NDArray[np.int64], bool]:
    scalars = column.scalars()
    result = np.empty(len(scalars), dtype=np.int64)
    any_naive = False
    for code, value in enumerate(scalars):
        try:
            result[code], naive = _read_time(value, zone)
        except (ValueError, OverflowError, ArithmeticError):
            place = table.place(column.first_row(code))
            raise InputError(
                f"{place}, column `{column.name}`: {str(value)[:60]!r} is not a time; "
                "write it as 2026-11-29T09:00:00Z"
            ) from None
        any_naive = any_naive or naive
    return result, any_naive


def _read_time(value: object, zone: ZoneInfo | None) -> tuple[int, bool]:
    """Microseconds, and whether a time of day without a zone was met."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return NO_TIME, False
        if _EPOCH_NUMBER.fullmatch(text):
            return _from_epoch(float(text)), False
        moment = datetime.fromisoformat(text)
        is_date = len(text) <= len("2026-11-29")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return _from_epoch(float(value)), False
    elif isinstance(value, datetime):
        moment, is_date = value, False
    elif isinstance(value, date):
        moment, is_date = datetime(value.year, value.month, value.day), True  # noqa: DTZ001  # below
    else:
        raise ValueError(value)
    naive = moment.tzinfo is None
    if naive:
        moment = moment.replace(tzinfo=zone or UTC)
    return (moment - _EPOCH) // _MICROSECOND, naive and not is_date


def _from_epoch(number: float) -> int:
    for low, high, factor in _EPOCH_UNITS:
        if low <= number < high:
            return round(number * factor)
    raise ValueError(number)
