"""State of the cache window day by day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from reports.drawing import (
    CHART_WIDTH,
    Drawing,
    LegendItem,
    colour,
    inline_data,
    time_axis,
    to_svg,
)
from reports.section import DataTable, Section, make_table
from reports.wording import counted, number, percent

MAX_DAYS_DRAWN = 120
MAX_CACHE_ROWS = 60

_STATES = (
    ("settled: passes", "series-1", "n_settled_pass"),
    ("settled: fails", "series-2", "n_settled_fail"),
    ("not settled", "fill-2", "n_unsettled"),
    ("too few trials", "fill-1", "n_too_few"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheDay:
    """Cache window as it stood on one day; the four counts add up to the bank.

    Attributes
    ----------
    share_cached : float
        ``(n_settled_pass + n_settled_fail)`` over the bank's questions.
    n_settled_pass, n_settled_fail : int
        Questions nearly always passed, nearly always failed.
    n_unsettled : int
        Enough trials, mixed results.
    n_too_few : int
        Fewer trials in the window than the cache needs.
    """

    day: date
    share_cached: float
    n_settled_pass: int
    n_settled_fail: int
    n_unsettled: int
    n_too_few: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheWindow:
    """The cache rule and its state day by day."""

    n_days: int
    min_trials: int
    epsilon: float
    days: tuple[CacheDay, ...] = ()

    def section(self) -> Section:
        """Draw the state of the cache day by day."""
        return Section(
            anchor="cache",
            heading="Cache window",
            drawing=cache_chart(self.days),
            reading=(
                "Each bar is the bank on one day. The coloured part is settled and need not be "
                "run again; the grey part must be.",
                f"A question is settled when at least {self.min_trials} routine trials of the "
                f"{self.n_days} days before agree, with at most {100 * self.epsilon:g}% "
                "exceptions. A shrinking coloured part means verdicts started to move.",
            ),
            empty="No cache yet: it appears after routine runs on at least one earlier day.",
            tables=(cache_table(self.days),),
            by_time=True,
        )


def cache_table(days: Sequence[CacheDay]) -> DataTable:
    """List the cache window by day, newest first."""
    return make_table(
        "Cache window, newest day first",
        ("Day", "#Settled", "#Passes", "#Fails", "#Not settled", "#Too few trials"),
        sorted(days, key=lambda day: day.day, reverse=True),
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


def cache_chart(found: Sequence[CacheDay]) -> Drawing | None:
    """Draw the cache days, or None when there are none with questions."""
    days = sorted((day for day in found if _total(day)), key=lambda day: day.day)
    if not days:
        return None
    note = ""
    if len(days) > MAX_DAYS_DRAWN:
        note = f"The newest {MAX_DAYS_DRAWN} of {len(days)} days are drawn."
        days = days[-MAX_DAYS_DRAWN:]
    legend = tuple(
        LegendItem(label=label, swatch="square", colour=name) for label, name, _ in _STATES
    )
    return Drawing(svg=_draw(days), legend=legend, note=note)


def _total(day: CacheDay) -> int:
    return sum(getattr(day, field) for _, _, field in _STATES)


def _draw(days: list[CacheDay]) -> str:
    import altair as alt

    n_slots = (days[-1].day - days[0].day).days + 1
    half_day = 43_200_000
    first, last = _ms(days[0]) - half_day, _ms(days[-1]) + half_day
    x = alt.X(
        "t:T",
        scale=alt.Scale(
            type="utc",
            domain=[first, last],
            nice=False,
        ),
        axis=time_axis(first, last),
        title=None,
    )
    y = alt.Y(
        "low:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(format=".0%", tickCount=5, orient="right"),
        title="share of the bank",
    )
    width = max(1.5, min(26.0, 0.82 * (CHART_WIDTH - 70) / n_slots))
    chart = (
        alt.Chart(inline_data([row for day in days for row in _rows(day)]))
        .mark_bar(size=width)
        .encode(x=x, y=y, y2="high:Q", fill=alt.Fill("colour:N", scale=None), description="text:N")
        .properties(
            width=CHART_WIDTH,
            height=220,
            autosize=alt.AutoSizeParams(type="fit", contains="padding"),
        )
    )
    summary = (
        f"{counted(len(days), 'day')}; on the last, {percent(days[-1].share_cached)} of the "
        "questions are settled. The table below lists them."
    )
    return to_svg(chart, name="cache-chart", title="Cache window by day", summary=summary)


def _rows(day: CacheDay) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    total, below = _total(day), 0
    for label, name, field in _STATES:
        count = getattr(day, field)
        if count:
            text = f"{day.day.isoformat()}, {label}: {counted(count, 'question')} of {total}"
            rows.append(
                {
                    "t": _ms(day),
                    "low": below / total,
                    "high": (below + count) / total,
                    "colour": colour(name),
                    "text": text,
                }
            )
        below += count
    return rows


def _ms(day: CacheDay) -> int:
    return round(datetime.combine(day.day, time(), UTC).timestamp() * 1000)
