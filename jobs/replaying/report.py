"""What a replay prints and writes: JSON document, table, CSV files and page."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Final

from jobs.app.app import App
from jobs.app.console import to_json
from jobs.app.whole_file import csv_text, write_whole
from jobs.replaying.replay import Replay
from recurring_eval.replay.splits import EVERYONE
from recurring_eval.replay.summary import MetricRow
from reports.render import render_replay
from reports.replay_page import ReplayPage

_METRICS: Final = (
    "mae_pp",
    "max_error_pp",
    "bias_pp",
    "spearman",
    "kendall_tau",
    "execution_fraction",
    "coverage_90",
    "width_90_pp",
)
_TARGET_FIGURES: Final = ("full_pass_rate", "estimate", "absolute_error_pp", "worst_error_pp")
_WIDTH: Final = 132
PAGE: Final = "replay.html"
DOCUMENT: Final = "replay.json"


def document(result: Replay, *, show_folds: bool = False) -> dict[str, Any]:
    """Everything a replay found, as one JSON document."""
    data, setup, advice = result.data, result.setup, result.advice
    content = {
        "protocol": setup.plan.protocol,
        "rows": [row_document(result, row) for row in result.rows],
        "data": {
            "label": data.label,
            "n_runs": data.matrix.n_runs,
            "n_agents": data.n_agents,
            "n_questions": data.matrix.n_questions,
        },
        "seed": setup.seed,
        "n_seeds": len(setup.seeds),
        "described": setup.described,
        "comparisons": [asdict(pair) for pair in result.comparisons],
        "verdict": advice.verdict,
        "sentences": advice.sentences,
        "k_for_pp": {
            f"{width:g}": None if found is None else {"method": found[0], "k": found[1]}
            for width, found in advice.k_for_pp.items()
        },
        "skipped": result.skipped,
        "notes": data.notes,
    }
    if show_folds:
        content["folds"] = fold_assignments(result)
    return content


def row_document(result: Replay, row: MetricRow) -> dict[str, Any]:
    """One row; with its group where the protocol has several."""
    group = {} if result.setup.plan.group_names == (EVERYONE,) else {"group": row.group}
    return {
        **group,
        "method": row.method,
        "budget": row.budget,
        "k": row.k,
        **{name: getattr(row.metrics, name) for name in _METRICS},
        "cpu_s_per_target": row.cpu_s_per_target,
        "fit_cpu_s": row.fit_cpu_s,
        "n_targets": round(row.metrics.n_targets),
        "n_splits": row.n_splits,
    }


def fold_assignments(result: Replay) -> list[dict[str, Any]]:
    """List the agents that each fold tests."""
    agents = result.data.matrix.agents
    return [
        {
            "split": split.number,
            "fold": number,
            "agents": sorted({agents[i] for i in fold.targets}),
        }
        for split in result.setup.plan.splits
        for number, fold in enumerate(split.folds)
    ]


def text(result: Replay, *, show_folds: bool = False) -> list[str]:
    """Lay out what people read: the table, the differences and, last, the sentences."""
    folds = [
        f"split {fold['split']}, fold {fold['fold']} tests: {', '.join(fold['agents'])}"
        for fold in (fold_assignments(result) if show_folds else [])
    ]
    return [*folds, *_metric_tables(result), *_differences(result), *result.advice.sentences]


def csv_files(result: Replay) -> dict[str, str]:
    """CSV text by file name."""
    rows = [row_document(result, row) for row in result.rows]
    pairs = [asdict(pair) for pair in result.comparisons]
    matrix = result.data.matrix
    targets = [
        {
            "group": row.group,
            "method": row.method,
            "budget": row.budget,
            "k": row.k,
            "run_id": matrix.run_ids[run],
            "agent": matrix.agents[run],
            **{name: float(getattr(row.targets, name)[i]) for name in _TARGET_FIGURES},
        }
        for row in result.rows
        for i, run in enumerate(row.targets.rows)
    ]
    return {
        "rows.csv": _csv_of(rows),
        "comparisons.csv": _csv_of(pairs),
        "targets.csv": _csv_of(targets),
    }


def _csv_of(records: Sequence[dict[str, Any]]) -> str:
    header = tuple(records[0]) if records else ()
    return csv_text(header, [tuple(record.values()) for record in records])


def _metric_tables(result: Replay) -> list[str]:
    """One table for each group, with its name where there are several."""
    groups = result.setup.plan.group_names
    lines = []
    for group in groups:
        rows = [row for row in result.rows if row.group == group]
        if rows:
            lines += [f"{group}:"] if len(groups) > 1 else []
            lines.append(_metric_table(rows))
    return lines


def _metric_table(rows: Sequence[MetricRow]) -> str:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    with_intervals = any(math.isfinite(row.metrics.coverage_90) for row in rows)
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("method", overflow="fold")
    headings = ["budget", "k", "mean error", "largest", "bias", "Spearman", "tau-b", "executed"]
    headings += ["coverage", "width"] if with_intervals else []
    for heading in (*headings, "CPU ms/run", "fit CPU s"):
        table.add_column(heading, justify="right", no_wrap=True)
    last = rows[0].budget
    for row in rows:
        if row.budget != last:
            table.add_row()
        last = row.budget
        table.add_row(*(Text(cell) for cell in _cells(row, with_intervals=with_intervals)))
    return _plain(table)


def _cells(row: MetricRow, *, with_intervals: bool) -> list[str]:
    m = row.metrics
    intervals = [_percent(m.coverage_90), _number(m.width_90_pp, 1)] if with_intervals else []
    return [
        row.method,
        row.budget,
        str(row.k),
        _number(m.mae_pp),
        _number(m.max_error_pp, 1),
        _number(m.bias_pp, sign=True),
        _number(m.spearman, 3),
        _number(m.kendall_tau, 3),
        _percent(m.execution_fraction),
        *intervals,
        _number(1000 * row.cpu_s_per_target, 1),
        _number(row.fit_cpu_s),
    ]


def _differences(result: Replay) -> list[str]:
    """Compare the best method of each budget with every other one."""
    lines = []
    best: dict[str, str] = {}
    for pair in result.comparisons:
        if best.setdefault(pair.budget, pair.first) != pair.first:
            continue
        lines.append(
            f"{pair.budget}: {pair.first} against {pair.second}: "
            f"{pair.difference_pp:+.2f} pp ({pair.low_pp:+.2f} to {pair.high_pp:+.2f}), "
            f"p {pair.p_holm:.2g}"
        )
    if not lines:
        return []
    n = result.comparisons[0].n_targets
    unit = "agents" if result.setup.plan.by_agent else "runs"
    title = (
        f"Mean error of the best against the others, over {n} {unit} "
        "(95% by bootstrap; p by signed ranks, after Holm)"
    )
    return [title, *(f"  {line}" for line in lines), ""]


def _plain(table: object) -> str:
    from rich.console import Console

    buffer = io.StringIO()
    Console(file=buffer, width=_WIDTH, color_system=None, emoji=False, markup=False).print(table)
    return "\n".join(line.rstrip() for line in buffer.getvalue().strip("\n").splitlines()) + "\n"


def _number(value: float, digits: int = 2, *, sign: bool = False) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}%"


def write_files(app: App, result: Replay, content: Mapping[str, Any], folder: Path) -> Path:
    """Write the JSON document, the CSV files and the page; return the page's path."""
    write_whole(folder / DOCUMENT, to_json(content) + "\n")
    for name, text in csv_files(result).items():
        write_whole(folder / name, text)
    data, setup = result.data, result.setup
    page = ReplayPage(
        label=data.label,
        protocol=setup.plan.protocol,
        described=setup.described,
        made_at=app.clock.now(),
        version=installed_version("recurring-eval"),
        matrix=data.matrix,
        unit="agent" if setup.plan.by_agent else "run",
        advice=result.advice,
        rows=result.rows,
        comparisons=result.comparisons,
        skipped=tuple(result.skipped.items()),
        notes=data.notes,
    )
    write_whole(folder / PAGE, render_replay(page))
    return folder / PAGE
