"""Sections of a nightly page: each a chart, how to read it, and its tables."""

from dataclasses import dataclass

from reports.charts.cache import cache_chart
from reports.charts.difficulty import difficulty_chart, marked_subset_size
from reports.charts.drawing import Drawing
from reports.charts.error_against_k import error_chart
from reports.charts.history import history_chart
from reports.context import NightlyPage
from reports.data_tables import (
    DataTable,
    cache_table,
    errors_table,
    estimates_table,
    full_runs_table,
    questions_table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One section with a chart.

    Attributes
    ----------
    anchor : str
        Fragment of the section on the page.
    drawing : Drawing or None
        None when there is nothing to draw; `empty` then says why and what to do.
    reading : tuple of str
        How to read the chart, one paragraph each.
    by_time : bool
        Whether the newest is on the right, to be seen first where the chart scrolls.
    """

    anchor: str
    heading: str
    drawing: Drawing | None
    reading: tuple[str, ...]
    empty: str
    tables: tuple[DataTable, ...]
    by_time: bool = False


def figures(page: NightlyPage) -> tuple[Figure, ...]:
    """Draw the charts of `page` in reading order."""
    return (_history(page), _error(page), _difficulty(page), _cache(page))


def _with_rows(*tables: DataTable) -> tuple[DataTable, ...]:
    return tuple(table for table in tables if table.rows)


def _history(page: NightlyPage) -> Figure:
    return Figure(
        anchor="history",
        heading="Pass rate over time",
        drawing=history_chart(page),
        reading=(
            "Each dot is one full run: the share of its valid questions that passed.",
            "A diamond is what a partial or adaptive run said the full pass rate would be, its "
            f"line the {page.interval_level:.0%} interval. Compare it with the dots around it: "
            "most lines should reach their height.",
        ),
        empty="No full run yet: import one with “recurring-eval import”, and its pass rate "
        "appears here.",
        tables=_with_rows(full_runs_table(page), estimates_table(page)),
        by_time=True,
    )


def _error(page: NightlyPage) -> Figure:
    return Figure(
        anchor="error",
        heading="Error against number of questions",
        drawing=error_chart(page),
        reading=(
            "Left: how far an estimate from k questions is from the full pass rate, on average. "
            "Lower is better; read across to see what more questions buy.",
            "Right: how often the interval held the full pass rate. Marks well under the dashed "
            "line mean intervals are too narrow; few runs scatter widely.",
            "Filled: later runs of the window replayed against earlier ones. Rings: real full "
            "runs checked against the calibration in use before them.",
        ),
        empty="Nothing to compare yet: errors appear once the window holds enough full runs to "
        "replay, or a full run has been checked with “recurring-eval check”.",
        tables=_with_rows(errors_table(page)),
    )


def _difficulty(page: NightlyPage) -> Figure:
    k = marked_subset_size(page)
    subset = (
        f"Squares of the published k {k} subset stand at the foot of each pile. They should rise "
        "and fall with the piles: a pile without any is a difficulty the subset does not ask about."
        if k is not None
        else "No subset is published yet, so none is marked."
    )
    return Figure(
        anchor="difficulty",
        heading="Difficulty map",
        drawing=difficulty_chart(page),
        reading=(
            "Each square is a question, placed by its fitted difficulty: far left nearly every "
            "run passes it, far right nearly none does. Rest on a square to read its name.",
            subset,
        ),
        empty="No difficulties yet: they appear with the first calibration, which needs at least "
        "two full runs.",
        tables=_with_rows(questions_table(page)),
    )


def _cache(page: NightlyPage) -> Figure:
    rule = (
        f"A question is settled when at least {page.cache.min_trials} routine trials of the "
        f"{page.cache.n_days} days before agree, with at most {100 * page.cache.epsilon:g}% "
        "exceptions."
        if page.cache
        else ""
    )
    return Figure(
        anchor="cache",
        heading="Cache window",
        drawing=cache_chart(page),
        reading=(
            "Each bar is the bank on one day. The coloured part is settled and need not be run "
            "again; the grey part must be.",
            rule + " A shrinking coloured part means verdicts started to move.",
        ),
        empty="No cache yet: it appears after routine runs on at least one earlier day.",
        tables=_with_rows(cache_table(page)),
        by_time=True,
    )
