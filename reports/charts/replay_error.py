"""Error and rank correlation of each method against the share of the bank executed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reports.charts.drawing import Drawing, LegendItem, colour, inline_data, to_svg
from reports.charts.replay_series import OTHER, method_colours
from reports.replay_context import ReplayPage, ReplayRow
from reports.wording import clean, decimal, hover, percent, points, signed_points

if TYPE_CHECKING:
    import altair as alt

PANEL_WIDTH: Final = 315
_OFF_SCALE: Final = 2.5


def replay_error_chart(page: ReplayPage) -> Drawing | None:
    """Draw the main group's rows, or None without any."""
    rows = page.main_rows
    if not rows:
        return None
    colours = method_colours(page)
    ceiling = _ceiling(rows)
    lines = [
        LegendItem(label=method, swatch="line", colour=name)
        for method, name in colours.items()
        if name != OTHER
    ]
    if OTHER in colours.values():
        lines.append(LegendItem(label="other methods", swatch="line", colour=OTHER))
    off = list(dict.fromkeys(row.method for row in rows if row.mae_pp > ceiling))
    note = f"Off the scale of the left chart: {', '.join(off)}." if off else ""
    return Drawing(svg=_draw(rows, colours, ceiling), legend=tuple(lines), note=note)


def _ceiling(rows: Sequence[ReplayRow]) -> float:
    """Largest error drawn: all of them, unless a few would flatten the others."""
    errors = sorted(row.mae_pp for row in rows)
    middle = errors[len(errors) // 2]
    below = [error for error in errors if error <= _OFF_SCALE * middle]
    worst = errors[-1]
    return worst if worst <= _OFF_SCALE * max(below) else max(below)


def _draw(rows: Sequence[ReplayRow], colours: dict[str, str], ceiling: float) -> str:
    import altair as alt

    shares = [row.execution_fraction for row in rows]
    spread = max(shares) - min(shares)
    # With one budget the methods stand side by side, which the shift alone provides.
    unit = spread if spread > 0.01 else 0.05
    errors = [_mark(row, row.mae_pp, colours, unit) for row in rows if row.mae_pp <= ceiling]
    taus = [
        _mark(row, row.kendall_tau, colours, unit) for row in rows if row.kendall_tau is not None
    ]
    panels = [
        _panel(
            errors,
            title="Mean error, percentage points",
            domain=(0.0, max(1.0, 1.1 * ceiling)),
            width=PANEL_WIDTH if taus else 2 * PANEL_WIDTH,
        )
    ]
    if taus:
        lowest = min(float(str(mark["value"])) for mark in taus)
        panels.append(
            _panel(
                taus,
                title="Rank correlation (Kendall's tau-b)",
                domain=(max(-1.0, min(0.7, lowest - 0.05)), 1.0),
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
    marks: list[dict[str, object]], *, title: str, domain: tuple[float, float], width: int
) -> "alt.LayerChart":
    import altair as alt

    places = [float(str(mark["x"])) for mark in marks]
    spare = max(0.01, 0.06 * (max(places) - min(places)))
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[min(places) - spare, max(places) + spare], nice=False),
        axis=alt.Axis(format=".0%", grid=False, tickCount=6, labelFlush=False),
        title="share of the questions executed",
    )
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=list(domain), nice=5, zero=False),
        axis=alt.Axis(tickCount=5, format=".1f"),
        title=None,
    )
    stroke = alt.Stroke("colour:N", scale=None)
    lines = (
        alt.Chart(inline_data(marks))
        .mark_line(strokeWidth=2, aria=False)
        .encode(x=x, y=y, stroke=stroke, detail="method:N", order="x:Q")
    )
    dots = (
        alt.Chart(inline_data(marks))
        .mark_point(filled=True, size=52, opacity=1, strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            fill=alt.Fill("colour:N", scale=None),
            stroke=stroke,
            description="text:N",
        )
    )
    return alt.LayerChart(layer=[lines, dots], width=width, height=250, title=title)


def _mark(row: ReplayRow, value: float, colours: dict[str, str], unit: float) -> dict[str, object]:
    place = list(colours).index(row.method) - (len(colours) - 1) / 2
    return {
        "x": row.execution_fraction + unit * (0.012 if unit > 0.05 else 0.1) * place,
        "value": value,
        "method": clean(row.method),
        "colour": colour(colours[row.method]),
        "text": hover(
            f"{row.method}, budget {row.budget}: {percent(row.execution_fraction)} executed, "
            f"mean error {points(row.mae_pp)}, largest {points(row.max_error_pp)}, "
            f"bias {signed_points(row.bias_pp)}, tau-b {decimal(row.kendall_tau)}"
        ),
    }
