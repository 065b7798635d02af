"""State of the cache window day by day."""

from datetime import UTC, datetime, time

from reports.charts.drawing import (
    CHART_WIDTH,
    Drawing,
    LegendItem,
    colour,
    inline_data,
    time_axis,
    to_svg,
)
from reports.context import CacheDay, NightlyPage
from reports.wording import counted, percent

MAX_DAYS_DRAWN = 120

_STATES = (
    ("settled: passes", "series-1", "n_settled_pass"),
    ("settled: fails", "series-2", "n_settled_fail"),
    ("not settled", "fill-2", "n_unsettled"),
    ("too few trials", "fill-1", "n_too_few"),
)


def cache_chart(page: NightlyPage) -> Drawing | None:
    """Draw the cache days of `page`, or None when there are none with questions."""
    days = sorted(page.cache.days, key=lambda day: day.day) if page.cache else []
    days = [day for day in days if _total(day)]
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
