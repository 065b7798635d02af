"""Pass rates of full runs over time, with the estimates of partial runs beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean, median

from recurring_eval.records import Run, RunKind, RunPurpose, ScoredRun, ScoreEstimate
from reports.drawing import (
    CHART_WIDTH,
    Drawing,
    LegendItem,
    Swatch,
    colour,
    inline_data,
    time_axis,
    to_svg,
)
from reports.section import DataTable, Section, make_table
from reports.wording import counted, hover, moment, nominal, number, percent

MAX_RUNS_DRAWN = 400
MAX_DAYS_DRAWN = 400
MAX_ESTIMATES_DRAWN = 200
TREND_RUNS = 7
MAX_HISTORY_ROWS = 200
MAX_ESTIMATE_ROWS = 100

_STYLES: dict[str, tuple[str, str, Swatch]] = {
    "routine": ("series-1", "circle", "dot"),
    "candidate": ("series-3", "square", "square"),
    "experiment": ("series-4", "square", "square"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedRun:
    """A run that was not asked all questions, with its estimate; k is what it was asked for."""

    run: Run
    k: int
    estimate: ScoreEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """Runs with their scores, and partial and adaptive runs with their latest estimate.

    Only full runs are drawn as scores; under-covered ones are hollow. `level` is the nominal
    coverage of the next estimates; each estimate has its own.
    """

    level: float
    runs: tuple[ScoredRun, ...] = ()
    estimates: tuple[EstimatedRun, ...] = ()

    def section(self) -> Section:
        """Draw pass rates over time."""
        levels = {e.estimate.level for e in self.estimates} or {self.level}
        interval = (
            f"{nominal(levels.pop())} interval"
            if len(levels) == 1
            else "interval, at the level that the table names"
        )
        return Section(
            anchor="history",
            heading="Pass rate over time",
            drawing=history_chart(self),
            reading=(
                "Each dot is one full run: the share of its valid questions that passed.",
                "A diamond is the full pass rate estimated from a partial or adaptive run, its "
                f"line the {interval}. Compare it with the dots around it: most lines should reach "
                "their height.",
            ),
            empty="No full run yet: import one with “recurring-eval import”, and its pass rate "
            "appears here.",
            tables=(full_runs_table(self), estimates_table(self)),
            by_time=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    at: datetime
    rate: float
    style: str
    hollow: bool
    text: str


def history_chart(history: RunHistory) -> Drawing | None:
    """Draw the runs, or None when there is nothing to draw."""
    marks = [_run_mark(run) for run in _drawable(history.runs)]
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
        (e for e in history.estimates if since is None or e.run.started_at >= since),
        key=_by_start,
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


def _by_start(estimate: EstimatedRun) -> tuple[datetime, str, str, int]:
    run = estimate.run
    return run.started_at, run.run_key, estimate.estimate.method, estimate.k


def _drawable(runs: Sequence[ScoredRun]) -> list[ScoredRun]:
    full = [s for s in runs if s.run.kind is RunKind.FULL and s.pass_rate is not None]
    return sorted(full, key=lambda scored: (scored.run.started_at, scored.run.run_key))


def _run_mark(scored: ScoredRun) -> _Mark:
    run = scored.run
    text = (
        f"{run.run_key}: {percent(scored.pass_rate)} of {number(scored.n_valid)} valid, "
        f"{run.purpose.value}, {moment(run.started_at)}"
    )
    return _Mark(
        at=run.started_at,
        rate=scored.pass_rate or 0.0,
        style=run.purpose.value,
        hollow=run.under_covered,
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


def _legend(marks: Sequence[_Mark], estimates: Sequence[EstimatedRun]) -> tuple[LegendItem, ...]:
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


def _draw(marks: Sequence[_Mark], estimates: Sequence[EstimatedRun]) -> str:
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


def _estimate_row(estimated: EstimatedRun) -> dict[str, object]:
    run, estimate = estimated.run, estimated.estimate
    text = (
        f"{run.run_key}: {estimate.method}, k {estimated.k}: {percent(estimate.pass_rate)}, "
        f"{percent(estimate.low)} to {percent(estimate.high)}, {moment(run.started_at)}"
    )
    return {
        "t": _ms(run.started_at),
        "rate": estimate.pass_rate,
        "low": estimate.low,
        "high": estimate.high,
        "text": hover(text),
    }


def _rate_domain(marks: Sequence[_Mark], estimates: Sequence[EstimatedRun]) -> tuple[float, float]:
    """Range of the drawn rates with a margin, at least ten points tall."""
    values = [mark.rate for mark in marks]
    values += [bound for e in estimates for bound in (e.estimate.low, e.estimate.high)]
    low, high = min(values) - 0.015, max(values) + 0.015
    spare = max(0.0, 0.1 - (high - low)) / 2
    return max(0.0, low - spare), min(1.0, high + spare)


def _time_domain(marks: Sequence[_Mark], estimates: Sequence[EstimatedRun]) -> tuple[int, int]:
    """Range of the drawn times with a margin, at least six hours on either side."""
    times = [_ms(mark.at) for mark in marks] + [_ms(e.run.started_at) for e in estimates]
    first, last = min(times), max(times)
    margin = max(21_600_000, (last - first) // 50)
    return first - margin, last + margin


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def full_runs_table(history: RunHistory) -> DataTable:
    """List full runs, newest first."""
    full = [scored for scored in history.runs if scored.run.kind is RunKind.FULL]
    return make_table(
        "Full runs, newest first",
        ("~Run", "~Agent", "Started", "Purpose", "#Pass rate", "#Valid", "Remark"),
        sorted(full, key=lambda s: (s.run.started_at, s.run.run_key), reverse=True),
        lambda scored: (
            scored.run.run_key,
            scored.run.agent,
            moment(scored.run.started_at),
            scored.run.purpose.value,
            percent(scored.pass_rate),
            number(scored.n_valid),
            "too few valid verdicts" if scored.run.under_covered else "",
        ),
        cap=MAX_HISTORY_ROWS,
        cut_words="older runs",
        mark=lambda scored: scored.run.under_covered,
    )


def estimates_table(history: RunHistory) -> DataTable:
    """List estimates of runs that were not asked all questions, newest first."""
    return make_table(
        "Estimates of partial and adaptive runs, newest first",
        ("~Run", "Started", "~Method", "#k", "#Estimate", "#Low", "#High", "#Level"),
        sorted(history.estimates, key=_by_start, reverse=True),
        lambda e: (
            e.run.run_key,
            moment(e.run.started_at),
            e.estimate.method,
            number(e.k),
            percent(e.estimate.pass_rate),
            percent(e.estimate.low),
            percent(e.estimate.high),
            nominal(e.estimate.level),
        ),
        cap=MAX_ESTIMATE_ROWS,
        cut_words="older estimates",
    )
