"""Errors of single runs, paired differences and groups: one line of marks per method."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recurring_eval.replay.compare import PairedComparison
from reports.drawing import Drawing, LegendItem, colour, inline_data, to_svg
from reports.replay_page import ReplayPage, method_colours
from reports.wording import clean, clipped, counted, decimal, hover, percent, points, signed_points

MAX_LINES: Final = 16
MAX_DOTS: Final = 300
LINE_HEIGHT: Final = 30
WIDTH: Final = 560
LABEL_LENGTH: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    line: str
    value: float
    colour: str
    text: str
    low: float | None = None
    high: float | None = None


def target_errors_chart(page: ReplayPage) -> Drawing | None:
    """Draw every run's error under every method at the advised budget."""
    colours = method_colours(page)
    methods = list(colours)[:MAX_LINES]
    marks: list[_Mark] = []
    thinned = False
    for method in methods:
        mine = sorted(page.targets(method), key=lambda t: (t.first_error_pp, t.run_id))
        step = -(-len(mine) // MAX_DOTS) if mine else 1
        # The outermost runs stay, whatever is left out between them.
        shown = mine if step == 1 else [*mine[:-1:step], mine[-1]]
        thinned = thinned or step > 1
        for t in shown:
            text = (
                f"{t.run_id}, {method}: {signed_points(t.first_error_pp)} here, "
                f"{points(t.absolute_error_pp)} off on average, "
                f"{signed_points(t.worst_error_pp)} at worst; in full {percent(t.full_pass_rate)}"
            )
            marks.append(
                _Mark(line=method, value=t.first_error_pp, colour=colours[method], text=hover(text))
            )
    if not marks:
        return None
    left = len(colours) - len(methods)
    note = f"{counted(left, 'further method')} only in the table. " if left else ""
    note += f"At most about {MAX_DOTS} runs are drawn per method." if thinned else ""
    return Drawing(
        svg=_draw(
            marks,
            methods,
            axis="estimate less full pass rate, percentage points",
            name="replay-targets",
            title=f"Error of each run at budget {page.advice.budget}",
        ),
        legend=(LegendItem(label="one run, its first estimate", swatch="dot", colour="muted"),),
        note=note.strip(),
    )


def differences_chart(page: ReplayPage) -> Drawing | None:
    """Draw the best method of the advised budget against each other, with intervals."""
    pairs = best_against_others(page)
    if not pairs:
        return None
    colours = method_colours(page)
    shown = pairs[:MAX_LINES]
    marks = [
        _Mark(
            line=pair.second,
            value=pair.difference_pp,
            low=pair.low_pp,
            high=pair.high_pp,
            colour=colours.get(pair.second, "muted"),
            text=hover(
                f"{pair.first} against {pair.second}: {signed_points(pair.difference_pp)} "
                f"({signed_points(pair.low_pp)} to {signed_points(pair.high_pp)}), "
                f"p {decimal(pair.p_holm, 3)} after Holm"
            ),
        )
        for pair in shown
    ]
    return Drawing(
        svg=_draw(
            marks,
            [mark.line for mark in marks],
            axis=f"mean error of {clipped(clean(pairs[0].first), 40)} less that of the method, "
            "percentage points",
            name="replay-differences",
            title=f"Paired differences at budget {page.advice.budget}",
        ),
        legend=(
            LegendItem(label="difference and 95% interval", swatch="interval", colour="muted"),
        ),
        note=f"{len(pairs) - len(shown)} more are in the table." if len(pairs) > len(shown) else "",
    )


def best_against_others(page: ReplayPage) -> list[PairedComparison]:
    """Comparisons of the advised budget that the best method there is the first of."""
    at_budget = [pair for pair in page.comparisons if pair.budget == page.advice.budget]
    return [pair for pair in at_budget if pair.first == at_budget[0].first]


def groups_chart(page: ReplayPage) -> Drawing | None:
    """Draw the mean error of every method in every group, where there are several."""
    groups = list(dict.fromkeys(row.group for row in page.rows))
    if len(groups) < 2:
        return None
    colours = method_colours(page)
    own = {method: name for method, name in colours.items() if name.startswith("series-")}
    marks = [
        _Mark(
            line=row.group,
            value=row.metrics.mae_pp,
            colour=own[row.method],
            text=hover(f"{row.method}, {row.group}: mean error {points(row.metrics.mae_pp)}"),
        )
        for row in page.rows
        if row.budget == page.advice.budget and row.method in own
    ]
    return Drawing(
        svg=_draw(
            marks,
            groups[:MAX_LINES],
            axis="mean error, percentage points",
            name="replay-groups",
            title=f"Mean error by group at budget {page.advice.budget}",
            signed=False,
        ),
        legend=tuple(
            LegendItem(label=method, swatch="dot", colour=name) for method, name in own.items()
        ),
        note=f"{len(groups) - MAX_LINES} more groups are in the table."
        if len(groups) > MAX_LINES
        else "",
    )


def _draw(
    marks: Sequence[_Mark],
    lines: Sequence[str],
    *,
    axis: str,
    name: str,
    title: str,
    signed: bool = True,
) -> str:
    import altair as alt

    labels = _labels(lines)
    drawn = [mark for mark in marks if mark.line in labels]
    values = inline_data(
        [
            {
                "line": labels[mark.line],
                "value": mark.value,
                "low": mark.low,
                "high": mark.high,
                "colour": colour(mark.colour),
                "text": mark.text,
            }
            for mark in drawn
        ]
    )
    ends = [e for m in drawn for e in (m.value, m.low, m.high) if e is not None]
    low, high = (min(0.0, *ends), max(0.0, *ends)) if signed else (min(ends), max(ends))
    spare = max(0.1, 0.04 * (high - low))
    x = alt.X(
        "value:Q",
        scale=alt.Scale(
            domain=[low - spare if signed else max(0.0, low - spare), high + spare], nice=False
        ),
        axis=alt.Axis(tickCount=7, format=".2~f"),
        title=axis,
    )
    y = alt.Y(
        "line:N",
        scale=alt.Scale(domain=list(labels.values())),
        axis=alt.Axis(
            labelLimit=300,
            # The renderer's letters are narrower than a reader's may be.
            minExtent=8 * max(map(len, labels.values())) + 8,
            domain=False,
            ticks=False,
            grid=True,
        ),
        title=None,
    )
    zero = (
        alt.Chart(inline_data([{"value": 0}]))
        .mark_rule(color=colour("muted"), strokeDash=[4, 3], aria=False)
        .encode(x="value:Q")
    )
    layers: list[alt.Chart] = [zero] if signed else []
    has_intervals = any(mark.low is not None for mark in drawn)
    if has_intervals:
        layers.append(
            alt.Chart(values)
            .mark_rule(strokeWidth=2, aria=False)
            .encode(x=alt.X("low:Q"), x2="high:Q", y=y, stroke=alt.Stroke("colour:N", scale=None))
        )
    layers.append(
        alt.Chart(values)
        .mark_point(
            filled=True,
            size=64 if has_intervals else 40,
            opacity=1 if has_intervals else 0.75,
            shape="diamond" if has_intervals else "circle",
        )
        .encode(x=x, y=y, fill=alt.Fill("colour:N", scale=None), description="text:N")
    )
    return to_svg(
        alt.LayerChart(layer=layers, width=WIDTH, height=LINE_HEIGHT * len(labels)),
        name=name,
        title=title,
        summary=f"{len(drawn)} marks on {len(labels)} lines. The table below lists them.",
    )


def _labels(lines: Sequence[str]) -> dict[str, str]:
    """Short labels, told apart where shortening makes two alike."""
    labels: dict[str, str] = {}
    for line in dict.fromkeys(lines):
        label = clipped(clean(line), LABEL_LENGTH)
        copy = 1
        while label in labels.values():
            copy += 1
            label = f"{clipped(clean(line), LABEL_LENGTH - 3)} {copy}"
        labels[line] = label
    return labels
