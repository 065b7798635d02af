"""The measurements as Markdown tables and as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tests.benchmarks.peers.measure import Row


def ratio_table(rows: Sequence[Row]) -> str:
    """CPU seconds of a fit or of one step, and ours over theirs."""
    lines = [
        "| task | peer | ours, CPU s | theirs, CPU s | ours/theirs |",
        "|---|---|---:|---:|---:|",
    ]
    for row in rows:
        if row.reason:
            lines.append(f"| {row.task} | {row.peer} | | not run: {row.reason} | |")
            continue
        times = " | ".join(two_digits(x) for x in (row.our_seconds, row.their_seconds, row.ratio))
        lines.append(f"| {row.task} | {row.peer} {row.version} | {times} |")
    return "\n".join(lines)


def agreement_table(rows: Sequence[Row]) -> str:
    """Correlations, root mean square differences and shares."""
    lines = ["| task | peer | what | correlation | RMSE | n |", "|---|---|---|---:|---:|---:|"]
    for row in rows:
        lines += [
            f"| {row.task} | {row.peer} | {what} | {found.correlation:.4f} "
            f"| {two_digits(found.rmse)} | {found.n} |"
            for what, found in row.agreements.items()
        ]
        lines += [
            f"| {row.task} | {row.peer} | {what} | {share:.4f} | | |"
            for what, share in row.shares.items()
        ]
    return "\n".join(lines)


def two_digits(value: float) -> str:
    """Two significant digits, without an exponent."""
    decimals = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{decimals}f}"


def as_json(rows: Sequence[Row], settings: Mapping[str, object]) -> str:
    """Everything measured; a ratio is null where a peer did not run."""
    entries = []
    for row in rows:
        entry = asdict(row)
        entry["ratio"] = row.ratio
        if row.reason:
            entry.update(our_seconds=None, their_seconds=None, ratio=None)
        entries.append(entry)
    return json.dumps({"settings": dict(settings), "rows": entries}, indent=1, allow_nan=False)
