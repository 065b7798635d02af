"""Columns that describe runs: agent, tags and so on, times, durations and costs."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.harnesses.log_values import amount
from jobs.harnesses.table.columns import Column, RawTable, normalised
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog, RunPurpose

_MILLISECONDS: Final = "latency_ms"


def amounts(column: Column | None, n_rows: int) -> NDArray[np.float64]:
    """Non-negative numbers, durations in seconds; NaN where the cell has none."""
    if column is None:
        return np.full(n_rows, np.nan)
    numbers = np.array([amount(value) for value in column.scalars()], dtype=np.float64)
    if normalised(column.name) == _MILLISECONDS:
        numbers = numbers / 1000.0
    return column.take(numbers, np.nan)


UNKNOWN_AGENT: Final = "unknown"
_CONFIG: Final = ("agent_version", "model", "commit")
_SINGLE: Final = ("agent", "purpose", "agent_family", "subset")
_SEPARATOR: Final = re.compile(r"[,;\x1f]")
_MOST_PARTS: Final = 3


class RunFacts:
    """The columns that describe runs, read once per distinct value."""

    def __init__(self, table: RawTable, columns: Mapping[str, Column]) -> None:
        meanings = (*_SINGLE, *_CONFIG, "config_hash", "session", "tags")
        self._table = table
        self._columns = {m: columns[m] for m in meanings if m in columns}
        self._texts = {m: [_text(v) for v in c.scalars()] for m, c in self._columns.items()}
        self._tags = [_tags(text) for text in self._texts.get("tags", [])]

    def described(self, log: RunLog, rows: NDArray[np.intp], *, agent: str | None) -> RunLog:
        """Log of a run with what the rows that are its own say of it.

        Parameters
        ----------
        log : RunLog
        rows : ndarray of intp
        agent : str or None
            Wins over the table's agent.

        Raises
        ------
        InputError
            If the rows disagree about the agent, purpose, family or subset.
        """
        run = log.run_key
        model = self._joined("model", rows)
        name = agent or self._single("agent", rows, run) or model or log.agent
        sessions = self._values("session", rows)
        return replace(
            log,
            agent=name,
            agent_config=self._joined("config_hash", rows) or self._config(rows, name),
            agent_family=self._single("agent_family", rows, run) or log.agent_family,
            purpose=self._purpose(self._single("purpose", rows, run), run) or log.purpose,
            subset_id=self._single("subset", rows, run),
            # A session per row is somebody else's word for something else.
            session_id=sessions[0] if len(sessions) == 1 else None,
            tags=self._common_tags(rows),
        )

    def names_agents(self) -> bool:
        """Whether there is a column that names agents."""
        return "agent" in self._columns or "model" in self._columns

    def _values(self, meaning: str, rows: NDArray[np.intp]) -> list[str]:
        if meaning not in self._columns:
            return []
        texts = self._texts[meaning]
        codes = np.unique(self._columns[meaning].codes[rows])
        return [texts[code] for code in codes if code >= 0 and texts[code]]

    def _single(self, meaning: str, rows: NDArray[np.intp], run: str) -> str | None:
        values = self._values(meaning, rows)
        if len(values) > 1:
            raise InputError(
                f"run {run!r} has two values in column `{self._columns[meaning].name}`, "
                f"{values[0]!r} and {values[1]!r}; give each run its own id"
            )
        return values[0] if values else None

    def _joined(self, meaning: str, rows: NDArray[np.intp]) -> str:
        values = sorted(self._values(meaning, rows))
        more = "+..." if len(values) > _MOST_PARTS else ""
        return "+".join(values[:_MOST_PARTS]) + more

    def _config(self, rows: NDArray[np.intp], agent: str) -> str:
        parts = [(meaning, self._joined(meaning, rows)) for meaning in _CONFIG]
        return " ".join(f"{key}={text}" for key, text in parts if text and text != agent)

    def _purpose(self, word: str | None, run: str) -> RunPurpose | None:
        if word is None:
            return None
        try:
            return RunPurpose(word.lower())
        except ValueError:
            raise InputError(
                f"run {run!r} has the purpose {word!r}; choose from {', '.join(RunPurpose)}"
            ) from None

    def _common_tags(self, rows: NDArray[np.intp]) -> tuple[str, ...]:
        """Tags on every row: the others describe questions, not the run."""
        if "tags" not in self._columns:
            return ()
        codes = np.unique(self._columns["tags"].codes[rows])
        sets = [self._tags[code] if code >= 0 else frozenset[str]() for code in codes]
        return tuple(sorted(frozenset.intersection(*sets)))


def _text(value: object) -> str:
    return "" if value is None or value != value else str(value).strip()  # NaN


def _tags(text: str) -> frozenset[str]:
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except ValueError:
            listed = [text]
        return frozenset(str(tag) for tag in listed)
    return frozenset(tag.strip() for tag in _SEPARATOR.split(text) if tag.strip())


NO_TIME: Final = np.iinfo(np.int64).min
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EARLIEST: Final = (datetime(1970, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LATEST: Final = (datetime(2200, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_EPOCH_NUMBER: Final = re.compile(r"\d{10}(\.\d+)?|\d{13}")
_EPOCH_UNITS: Final = ((1e8, 1e11, 1_000_000), (1e11, 1e14, 1_000), (1e14, 1e17, 1))


def read_times(
    table: RawTable, column: Column, timezone: str | None
) -> tuple[NDArray[np.int64], list[str]]:
    """Read a column of times.

    Understood are ISO 8601 text, Parquet times and dates, and seconds, milli- or
    microseconds since 1970. A time without a zone is in `timezone`, by default
    UTC (then there is a note); a date alone is its midnight.

    Returns
    -------
    microseconds : ndarray of int64, shape (n_rows,)
        Since 1970, UTC; `NO_TIME` where the cell is empty.
    notes : list of str

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
    notes = []
    if naive and zone is None:
        notes = [f"times in `{column.name}` have no zone; read as UTC (--timezone says otherwise)"]
    return column.take(values, NO_TIME), notes


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
