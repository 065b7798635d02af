"""Pass rates of full runs over time, with the estimates of partial runs beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean, median

from recurring_eval.records.run import RunKind, RunPurpose
from reports.charts.drawing import (
    CHART_WIDTH,
    Drawing,
    LegendItem,
    Swatch,
    colour,
    inline_data,
    time_axis,
    to_svg,
)
from reports.context import HistoryPoint, NightlyPage, PartialEstimate
from reports.wording import counted, hover, moment, number, percent

MAX_RUNS_DRAWN = 400
MAX_DAYS_DRAWN = 400
MAX_ESTIMATES_DRAWN = 200
TREND_RUNS = 7

_STYLES: dict[str, tuple[str, str, Swatch]] = {
    "routine": ("series-1", "circle", "dot"),
    "candidate": ("series-3", "square", "square"),
    "experiment": ("series-4", "square", "square"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    at: datetime
    rate: float
    style: str
    hollow: bool
    text: str


def history_chart(page: NightlyPage) -> Drawing | None:
    """Draw the runs of `page`, or None when there is nothing to draw."""
    marks = [_run_mark(point) for point in _drawable(page.history)]
    note = ""
    if len(marks) > MAX_RUNS_DRAWN:
        n_runs = len(marks)
        marks = _day_means(marks)[-MAX_DAYS_DRAWN:]
        note = (
            f"{number(n_runs)} full runs: each dot is the mean of one day, "
            f"{counted(len(marks), 'day')} drawn."
        )
    since = marks[0].at if note else None
    estimates = sorted(
        (e for e in page.partial_estimates if since is None or e.at >= since),
        key=lambda e: (e.at, e.run_key, e.method, e.k),
    )
    if len(estimates) > MAX_ESTIMATES_DRAWN:
        note += (
            f" The newest {MAX_ESTIMATES_DRAWN} of {number(len(estimates))} estimates are drawn."
        )
        estimates = estimates[-MAX_ESTIMATES_DRAWN:]
    if not marks and not estimates:
        return None
    svg = _draw(marks, estimates)
    return Drawing(svg=svg, legend=_legend(marks, estimates), note=note.strip())


def _drawable(history: Sequence[HistoryPoint]) -> list[HistoryPoint]:
    full = [p for p in history if p.kind == RunKind.FULL and p.pass_rate is not None]
    return sorted(full, key=lambda point: (point.started_at, point.run_key))


def _run_mark(point: HistoryPoint) -> _Mark:
    text = (
        f"{point.run_key}: {percent(point.pass_rate)} of {number(point.n_valid)} valid, "
        f"{point.purpose.value}, {moment(point.started_at)}"
    )
    return _Mark(
        at=point.started_at,
        rate=point.pass_rate or 0.0,
        style=point.purpose.value,
        hollow=point.under_covered,
        text=text,
    )


def _day_means(marks: Sequence[_Mark]) -> list[_Mark]:
    days: dict[tuple[datetime, str, bool], list[float]] = {}
    for mark in marks:
        midnight = mark.at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        days.setdefault((midnight, mark.style, mark.hollow), []).append(mark.rate)
    return [
        _Mark(
            at=day,
            rate=fmean(rates),
            style=style,
            hollow=hollow,
            text=f"{day:%Y-%m-%d}: mean {percent(fmean(rates))} of {counted(len(rates), 'run')}, "
            f"{percent(min(rates))} to {percent(max(rates))}, {style}",
        )
        for (day, style, hollow), rates in sorted(days.items())
    ]


def _trend(marks: Sequence[_Mark]) -> list[tuple[datetime, float]]:
    """Take the running median of the routine runs; nothing until there are enough for one."""
    routine = [mark for mark in marks if mark.style == RunPurpose.ROUTINE and not mark.hollow]
    if len(routine) < TREND_RUNS:
        return []
    return [
        (routine[end - 1].at, median(mark.rate for mark in routine[max(0, end - TREND_RUNS) : end]))
        for end in range(3, len(routine) + 1)
    ]


def _legend(marks: Sequence[_Mark], estimates: Sequence[PartialEstimate]) -> tuple[LegendItem, ...]:
    items = []
    for style, (name, _, swatch) in _STYLES.items():
        if any(mark.style == style and not mark.hollow for mark in marks):
            items.append(LegendItem(label=f"full run, {style}", swatch=swatch, colour=name))
    if _trend(marks):
        label = f"median of the last {TREND_RUNS} routine runs"
        items.append(LegendItem(label=label, swatch="line", colour="series-1"))
    if any(mark.hollow for mark in marks):
        items.append(LegendItem(label="too few valid verdicts", swatch="ring", colour="muted"))
    if estimates:
        label = "partial run: estimate and interval"
        items.append(LegendItem(label=label, swatch="interval", colour="series-2"))
    return tuple(items)


def _draw(marks: Sequence[_Mark], estimates: Sequence[PartialEstimate]) -> str:
    import altair as alt

    low, high = _rate_domain(marks, estimates)
    times = _time_domain(marks, estimates)
    x = alt.X(
        "t:T",
        scale=alt.Scale(type="utc", domain=list(times), nice=False),
        axis=time_axis(*times),
        title=None,
    )
    y = alt.Y(
        "rate:Q",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(format=".0%", tickCount=6, orient="right"),
        title="full pass rate",
    )
    runs = inline_data([_run_row(mark) for mark in marks])
    trend = inline_data([{"t": _ms(at), "rate": rate} for at, rate in _trend(marks)])
    partial = inline_data([_estimate_row(estimate) for estimate in estimates])
    layers = [
        alt.Chart(trend)
        .mark_line(color=colour("series-1"), strokeWidth=1.5, opacity=0.55, aria=False)
        .encode(x=x, y=y),
        alt.Chart(partial)
        .mark_rule(color=colour("series-2"), strokeWidth=2, opacity=0.75)
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q", description="text:N"),
        alt.Chart(runs)
        .mark_point(filled=True, size=44 if len(marks) <= 150 else 20, opacity=1, strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            fill=alt.Fill("fill:N", scale=None),
            stroke=alt.Stroke("stroke:N", scale=None),
            shape=alt.Shape("shape:N", scale=None),
            description="text:N",
        ),
        alt.Chart(partial)
        .mark_point(filled=True, size=60, opacity=1, shape="diamond", color=colour("series-2"))
        .encode(x=x, y=y, description="text:N"),
    ]
    chart = alt.LayerChart(
        layer=layers,
        width=CHART_WIDTH,
        height=270,
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
    )
    summary = (
        f"{len(marks)} marks of full runs and {len(estimates)} estimates of partial runs, "
        "by start time. The table below lists them."
    )
    return to_svg(chart, name="history-chart", title="Pass rate over time", summary=summary)


def _run_row(mark: _Mark) -> dict[str, object]:
    name, shape, _ = _STYLES[mark.style]
    return {
        "t": _ms(mark.at),
        "rate": mark.rate,
        "fill": colour("card" if mark.hollow else name),
        "stroke": colour("muted" if mark.hollow else name),
        "shape": shape,
        "text": hover(mark.text),
    }


def _estimate_row(estimate: PartialEstimate) -> dict[str, object]:
    text = (
        f"{estimate.run_key}: {estimate.method}, k {estimate.k}: {percent(estimate.estimate)}, "
        f"{percent(estimate.low)} to {percent(estimate.high)}, {moment(estimate.at)}"
    )
    return {
        "t": _ms(estimate.at),
        "rate": estimate.estimate,
        "low": estimate.low,
        "high": estimate.high,
        "text": hover(text),
    }


def _rate_domain(
    marks: Sequence[_Mark], estimates: Sequence[PartialEstimate]
) -> tuple[float, float]:
    """Range of the drawn rates with a margin, at least ten points tall."""
    values = [mark.rate for mark in marks]
    values += [bound for estimate in estimates for bound in (estimate.low, estimate.high)]
    low, high = min(values) - 0.015, max(values) + 0.015
    spare = max(0.0, 0.1 - (high - low)) / 2
    return max(0.0, low - spare), min(1.0, high + spare)


def _time_domain(marks: Sequence[_Mark], estimates: Sequence[PartialEstimate]) -> tuple[int, int]:
    """Range of the drawn times with a margin, at least six hours on either side."""
    times = [_ms(mark.at) for mark in marks] + [_ms(estimate.at) for estimate in estimates]
    first, last = min(times), max(times)
    margin = max(21_600_000, (last - first) // 50)
    return first - margin, last + margin


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
