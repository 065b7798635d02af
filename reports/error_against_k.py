"""Error and interval coverage of each method against the number of questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reports.drawing import Drawing, LegendItem, colour, inline_data, to_svg
from reports.section import DataTable, Section, make_table
from reports.wording import clean, counted, hover, nominal, number, percent, points, signed_points

if TYPE_CHECKING:
    import altair as alt

MAX_METHODS_DRAWN = 6
MAX_ERROR_ROWS = 120
PANEL_WIDTH = 315
_SERIES = tuple(f"series-{position}" for position in range(1, MAX_METHODS_DRAWN + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPoint:
    """Accuracy of one method at one k.

    Attributes
    ----------
    source : {"replay", "check"}
        Replay: later runs of the calibration window, estimated from the earlier
        ones. Check: full runs against the calibration in use before them.
    mae_pp, bias_pp : float
        Mean absolute and mean signed error (estimate minus full pass rate).
    coverage : float or None
        Fraction of intervals that contained the full pass rate.
    n : int
        Runs behind the figures.
    """

    source: Literal["replay", "check"]
    method: str
    k: int
    mae_pp: float
    bias_pp: float
    coverage: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsByK:
    """Accuracy of every method at every k.

    Attributes
    ----------
    level : float
        Nominal coverage of the intervals.
    methods : tuple of str
        Those to draw first, in this order; the others follow by name.
    """

    level: float
    methods: tuple[str, ...] = ()
    points: tuple[ErrorPoint, ...] = ()

    def section(self) -> Section:
        """Draw error and coverage against the number of questions."""
        return Section(
            anchor="error",
            heading="Error against number of questions",
            drawing=error_chart(self),
            reading=(
                "Left: how far an estimate from k questions is from the full pass rate, on "
                "average. Lower is better; read across to see what more questions buy.",
                "Right: how often the interval held the full pass rate. Marks well under the "
                "dashed line mean intervals are too narrow; with few runs the marks scatter "
                "widely.",
                "Filled: later runs of the window replayed against earlier ones. Rings: real full "
                "runs checked against the calibration in use before them.",
            ),
            empty="Nothing to compare yet: errors appear once the window holds enough full runs "
            "to replay, or a full run has been checked with “recurring-eval check”.",
            tables=(errors_table(self.points),),
        )


def errors_table(found: Sequence[ErrorPoint]) -> DataTable:
    """List error figures by method, k and source."""
    return make_table(
        "Error and coverage by method and k",
        ("~Method", "#k", "Source", "#Runs", "#Mean error", "#Bias", "#Coverage"),
        sorted(found, key=lambda error: (error.method, error.k, error.source)),
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


def error_chart(found: ErrorsByK) -> Drawing | None:
    """Draw replayed and checked errors, or None without any."""
    known = {error.method for error in found.points}
    first = [method for method in found.methods if method in known]
    methods = list(dict.fromkeys([*first, *sorted(known)]))
    drawn = methods[:MAX_METHODS_DRAWN]
    errors = sorted(
        (error for error in found.points if error.method in drawn),
        key=lambda error: (drawn.index(error.method), error.source, error.k),
    )
    if not errors:
        return None
    note = ""
    if len(methods) > len(drawn):
        note = f"{len(methods) - len(drawn)} more methods are only in the table."
    colours = dict(zip(drawn, _SERIES, strict=False))
    legend = [
        LegendItem(label=method, swatch="line", colour=name) for method, name in colours.items()
    ]
    sources = {error.source for error in errors}
    if "replay" in sources:
        legend.append(LegendItem(label="replayed full runs", swatch="dot", colour="muted"))
    if "check" in sources:
        legend.append(LegendItem(label="checks of real full runs", swatch="ring", colour="muted"))
    return Drawing(svg=_draw(errors, colours, level=found.level), legend=tuple(legend), note=note)


def _draw(errors: Sequence[ErrorPoint], colours: dict[str, str], *, level: float) -> str:
    import altair as alt

    covered = [(error, error.coverage) for error in errors if error.coverage is not None]
    width = PANEL_WIDTH if covered else 2 * PANEL_WIDTH
    worst = max(error.mae_pp for error in errors)
    k_range = max(error.k for error in errors) - min(error.k for error in errors)
    panels = [
        _panel(
            [_row(error, error.mae_pp, colours, k_range) for error in errors],
            title="Mean error, percentage points",
            domain=(0.0, max(1.0, worst * 1.1)),
            number_format=".1f",
            width=width,
        )
    ]
    if covered:
        lowest = min(share for _, share in covered)
        coverage = _panel(
            [_row(error, share, colours, k_range) for error, share in covered],
            title=f"Intervals that held the score (aim: {nominal(level)})",
            domain=(max(0.0, min(0.7, lowest - 0.05)), 1.0),
            number_format=".0%",
            width=width,
        )
        aim = (
            alt.Chart(inline_data([{"value": level}]))
            .mark_rule(color=colour("muted"), strokeDash=[4, 3], aria=False)
            .encode(y="value:Q")
        )
        coverage.layer = [aim, *coverage.layer]
        panels.append(coverage)
    summary = f"{len(errors)} figures by method and k. The table below lists them."
    return to_svg(
        alt.hconcat(*panels, spacing=62, bounds="flush"),
        name="error-chart",
        title="Error and coverage against the number of questions",
        summary=summary,
    )


def _panel(
    rows: list[dict[str, object]],
    *,
    title: str,
    domain: tuple[float, float],
    number_format: str,
    width: int,
) -> "alt.LayerChart":
    import altair as alt

    sizes = sorted({int(str(row["k"])) for row in rows})
    spare = max(1.0, 0.06 * (sizes[-1] - sizes[0]))
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[sizes[0] - spare, sizes[-1] + spare], nice=False),
        axis=alt.Axis(values=_ticks(sizes), format="d", grid=False),
        title="questions asked (k)",
    )
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=list(domain), nice=5, zero=False),
        axis=alt.Axis(tickCount=5, format=number_format),
        title=None,
    )
    replayed = inline_data([row for row in rows if row["source"] == "replay"])
    lines = (
        alt.Chart(replayed)
        .mark_line(strokeWidth=2, aria=False)
        .encode(x=x, y=y, stroke=alt.Stroke("colour:N", scale=None), detail="method:N")
    )
    marks = (
        alt.Chart(inline_data(rows))
        .mark_point(filled=True, size=56, opacity=1, strokeWidth=2)
        .encode(
            x=x,
            y=y,
            fill=alt.Fill("fill:N", scale=None),
            stroke=alt.Stroke("colour:N", scale=None),
            description="text:N",
        )
    )
    return alt.LayerChart(layer=[lines, marks], width=width, height=230, title=title)


def _ticks(sizes: list[int], at_most: int = 8) -> list[int]:
    step = -(-len(sizes) // at_most)
    return sizes[::step]


def _dodge(method: str, colours: dict[str, str]) -> float:
    """Shift of a method's marks, in parts of the k range, so that none hides another."""
    return 0.018 * (list(colours).index(method) - (len(colours) - 1) / 2)


def _row(
    error: ErrorPoint, value: float, colours: dict[str, str], k_range: int
) -> dict[str, object]:
    text = (
        f"{error.method}, k {error.k}, {error.source} of {counted(error.n, 'run')}: "
        f"mean error {points(error.mae_pp)}, bias {signed_points(error.bias_pp)}, "
        f"coverage {percent(error.coverage)}"
    )
    name = colour(colours[error.method])
    return {
        "k": error.k,
        "x": error.k + _dodge(error.method, colours) * k_range,
        "value": value,
        "method": clean(error.method),
        "source": error.source,
        "colour": name,
        "fill": name if error.source == "replay" else colour("card"),
        "text": hover(text),
    }
