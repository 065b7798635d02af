"""The table behind each chart: newest or most telling rows first, the rest counted."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from recurring_eval.records.run import RunKind
from reports.context import NightlyPage
from reports.wording import (
    clipped,
    decimal,
    moment,
    number,
    percent,
    points,
    signed_points,
)

MAX_HISTORY_ROWS = 200
MAX_ESTIMATE_ROWS = 100
MAX_QUESTION_ROWS = 600
MAX_ERROR_ROWS = 120
MAX_CACHE_ROWS = 60
MAX_CELL = 240

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Heading of a table column; numbers are set flush right, long texts may wrap."""

    heading: str
    numeric: bool = False
    wraps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """A table ready for the page.

    Attributes
    ----------
    rows : tuple of tuple of str
        One text per column; the first names the row.
    marked : tuple of bool
        Rows to make out at a glance (failed, outside, too few); as long as `rows`.
    n_cut : int
        Rows left out, `cut_words` says which.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: tuple[bool, ...]
    n_cut: int = 0
    cut_words: str = ""


def make_table(
    caption: str,
    columns: Sequence[Column],
    records: Sequence[Row],
    cells: Callable[[Row], Iterable[str]],
    *,
    cap: int,
    cut_words: str,
    mark: Callable[[Row], bool] = lambda _: False,
) -> DataTable:
    """Fill a table with the first `cap` of `records`, one row each."""
    return DataTable(
        caption=caption,
        columns=tuple(columns),
        rows=tuple(
            tuple(clipped(cell, MAX_CELL) for cell in cells(record)) for record in records[:cap]
        ),
        marked=tuple(mark(record) for record in records[:cap]),
        n_cut=max(0, len(records) - cap),
        cut_words=cut_words,
    )


def columns_of(*names: str) -> tuple[Column, ...]:
    """Name the columns; a leading ``#`` marks numbers, ``~`` texts that may be long."""
    return tuple(
        Column(heading=name.lstrip("#~"), numeric=name.startswith("#"), wraps=name.startswith("~"))
        for name in names
    )


def full_runs_table(page: NightlyPage) -> DataTable:
    """List full runs, newest first."""
    full = [point for point in page.history if point.kind == RunKind.FULL]
    newest = sorted(full, key=lambda point: (point.started_at, point.run_key), reverse=True)
    return make_table(
        "Full runs, newest first",
        columns_of("~Run", "~Agent", "Started", "Purpose", "#Pass rate", "#Valid", "Remark"),
        newest,
        lambda point: (
            point.run_key,
            point.agent,
            moment(point.started_at),
            point.purpose.value,
            percent(point.pass_rate),
            number(point.n_valid),
            "too few valid verdicts" if point.under_covered else "",
        ),
        cap=MAX_HISTORY_ROWS,
        cut_words="older runs",
        mark=lambda point: point.under_covered,
    )


def estimates_table(page: NightlyPage) -> DataTable:
    """List estimates of runs that were not asked all questions, newest first."""
    newest = sorted(
        page.partial_estimates, key=lambda e: (e.at, e.run_key, e.method, e.k), reverse=True
    )
    return make_table(
        "Estimates of partial and adaptive runs, newest first",
        columns_of("~Run", "Started", "~Method", "#k", "#Estimate", "#Low", "#High", "#Level"),
        newest,
        lambda e: (
            e.run_key,
            moment(e.at),
            e.method,
            number(e.k),
            percent(e.estimate),
            percent(e.low),
            percent(e.high),
            f"{e.level:.0%}",
        ),
        cap=MAX_ESTIMATE_ROWS,
        cut_words="older estimates",
    )


def errors_table(page: NightlyPage) -> DataTable:
    """List error figures by method, k and source."""
    ordered = sorted(page.errors, key=lambda error: (error.method, error.k, error.source))
    return make_table(
        "Error and coverage by method and k",
        columns_of("~Method", "#k", "Source", "#Runs", "#Mean error", "#Bias", "#Coverage"),
        ordered,
        lambda error: (
            error.method,
            number(error.k),
            error.source,
            number(error.n),
            points(error.mae_pp),
            signed_points(error.bias_pp),
            percent(error.coverage),
        ),
        cap=MAX_ERROR_ROWS,
        cut_words="further figures",
    )


def questions_table(page: NightlyPage) -> DataTable:
    """List the bank's questions, hardest first."""
    hardest = sorted(page.difficulty, key=lambda point: (-point.difficulty, point.question_id))
    return make_table(
        "Questions, hardest first",
        columns_of("~Question", "#Difficulty", "#Pass rate", "#Responses", "~In subsets of k"),
        hardest,
        lambda point: (
            point.question_id,
            decimal(point.difficulty),
            percent(point.pass_rate),
            number(point.n_responses),
            ", ".join(str(k) for k in sorted(point.in_subsets)),
        ),
        cap=MAX_QUESTION_ROWS,
        cut_words="easier questions",
    )


def cache_table(page: NightlyPage) -> DataTable:
    """List the cache window by day, newest first."""
    days = sorted(page.cache.days, key=lambda day: day.day, reverse=True) if page.cache else []
    return make_table(
        "Cache window, newest day first",
        columns_of("Day", "#Settled", "#Passes", "#Fails", "#Not settled", "#Too few trials"),
        days,
        lambda day: (
            day.day.isoformat(),
            percent(day.share_cached),
            number(day.n_settled_pass),
            number(day.n_settled_fail),
            number(day.n_unsettled),
            number(day.n_too_few),
        ),
        cap=MAX_CACHE_ROWS,
        cut_words="earlier days",
    )
