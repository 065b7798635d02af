"""Error and rank correlation of each method against the share of questions executed."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from recurring_eval.replay.summary import MetricRow
from reports.drawing import Drawing, LegendItem, colour, inline_data, to_svg
from reports.replay_page import OTHER, ReplayPage, method_colours
from reports.wording import clean, decimal, hover, percent, points, signed_points

if TYPE_CHECKING:
    import altair as alt

PANEL_WIDTH: Final = 315
HEIGHT: Final = 250
_OFF_SCALE: Final = 2.5
_SAME_SHARE: Final = 0.005

Mark = dict[str, object]


def replay_error_chart(page: ReplayPage) -> Drawing | None:
    """Draw the main group's rows, or None without any."""
    rows = page.main_rows
    if not rows:
        return None
    colours = method_colours(page)
    ceiling = _ceiling(rows)
    legend = [
        LegendItem(label=method, swatch="line", colour=name)
        for method, name in colours.items()
        if name != OTHER
    ]
    if OTHER in colours.values():
        legend.append(LegendItem(label="other methods", swatch="line", colour=OTHER))
    off = list(dict.fromkeys(row.method for row in rows if row.metrics.mae_pp > ceiling))
    note = f"Off the scale of the left chart: {', '.join(off)}." if off else ""
    return Drawing(svg=_draw(rows, colours, ceiling), legend=tuple(legend), note=note)


def _ceiling(rows: Sequence[MetricRow]) -> float:
    """Largest error drawn: all of them, unless a few would flatten the others."""
    errors = sorted(row.metrics.mae_pp for row in rows)
    middle = errors[len(errors) // 2]
    largest = max(error for error in errors if error <= _OFF_SCALE * max(middle, 0.1))
    return errors[-1] if errors[-1] <= _OFF_SCALE * largest else largest


def _draw(rows: Sequence[MetricRow], colours: dict[str, str], ceiling: float) -> str:
    import altair as alt

    errors = [
        _mark(row, row.metrics.mae_pp, colours) for row in rows if row.metrics.mae_pp <= ceiling
    ]
    ranked = [row for row in rows if math.isfinite(row.metrics.kendall_tau)]
    taus = [_mark(row, row.metrics.kendall_tau, colours) for row in ranked]
    panels = [
        _panel(
            errors,
            title="Mean error, percentage points",
            domain=(0.0, max(1.0, 1.1 * ceiling)),
            number_format=".1f",
            width=PANEL_WIDTH if taus else 2 * PANEL_WIDTH,
        )
    ]
    if taus:
        lowest = min(row.metrics.kendall_tau for row in ranked)
        panels.append(
            _panel(
                taus,
                title="Rank correlation (Kendall's tau-b)",
                domain=(max(-1.0, min(0.7, lowest - 0.05)), 1.0),
                number_format=".2f",
                width=PANEL_WIDTH,
            )
        )
    return to_svg(
        alt.hconcat(*panels, spacing=62, bounds="flush"),
        name="replay-error",
        title="Error and rank correlation against the share of questions executed",
        summary=f"{len(rows)} figures by method and budget. The table below lists them.",
    )


def _panel(
    marks: list[Mark],
    *,
    title: str,
    domain: tuple[float, float],
    number_format: str,
    width: int,
) -> "alt.LayerChart":
    import altair as alt

    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=list(domain), nice=5, zero=False),
        axis=alt.Axis(tickCount=5, format=number_format),
        title=None,
    )
    stroke = alt.Stroke("colour:N", scale=None)
    x, one_budget = _share_axis(marks)
    dots = (
        alt.Chart(inline_data(marks))
        .mark_point(filled=True, size=52, opacity=1, strokeWidth=1.5)
        .encode(
            x=x, y=y, fill=alt.Fill("colour:N", scale=None), stroke=stroke, description="text:N"
        )
    )
    if one_budget:
        return alt.LayerChart(layer=[dots], width=width, height=HEIGHT, title=title)
    lines = (
        alt.Chart(inline_data(marks))
        .mark_line(strokeWidth=2, aria=False)
        .encode(x=x, y=y, stroke=stroke, detail="method:N", order="share:Q")
    )
    return alt.LayerChart(layer=[lines, dots], width=width, height=HEIGHT, title=title)


def _share_axis(marks: list[Mark]) -> tuple["alt.X", bool]:
    """Horizontal axis, and whether all marks share one place on it.

    Those then stand side by side in the order of the legend, without a scale.
    """
    import altair as alt

    shares = [float(str(mark["share"])) for mark in marks]
    low, high = min(shares), max(shares)
    if high - low <= _SAME_SHARE:
        return alt.X(
            "place:O",
            axis=alt.Axis(labels=False, ticks=False, grid=False),
            title=f"methods in the order of the legend, {percent(high)} executed",
        ), True
    spare = 0.06 * (high - low)
    return alt.X(
        "share:Q",
        scale=alt.Scale(domain=[max(0.0, low - spare), high + spare], nice=False),
        axis=alt.Axis(format=".0%", grid=False, tickCount=6, labelFlush=False),
        title="share of the questions executed",
    ), False


def _mark(row: MetricRow, value: float, colours: dict[str, str]) -> Mark:
    m = row.metrics
    return {
        "share": m.execution_fraction,
        "place": list(colours).index(row.method),
        "value": value,
        "method": clean(row.method),
        "colour": colour(colours[row.method]),
        "text": hover(
            f"{row.method}, budget {row.budget}: {percent(m.execution_fraction)} executed, "
            f"mean error {points(m.mae_pp)}, largest {points(m.max_error_pp)}, "
            f"bias {signed_points(m.bias_pp)}, tau-b {decimal(m.kendall_tau)}"
        ),
    }
