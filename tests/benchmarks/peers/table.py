"""The measurements as Markdown tables and as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tests.benchmarks.peers.measure import Row

PAIRS = ("theirs and ours", "theirs and truth", "ours and truth")


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
    """Correlation and root mean square difference of each parameter, and shares."""
    lines = [
        f"| task | peer | what | n | {' | '.join(PAIRS)} |",
        f"|---|---|---|---:|{'---:|' * len(PAIRS)}",
    ]
    for row in rows:
        for label in dict.fromkeys(what.split(": ")[0] for what in row.agreements):
            pairs = [row.agreements.get(f"{label}: {pair}") for pair in PAIRS]
            cells = [f"{x.correlation:.4f}, {two_digits(x.rmse)}" if x else "" for x in pairs]
            n = next(x.n for x in pairs if x)
            lines.append(f"| {row.task} | {row.peer} | {label} | {n} | {' | '.join(cells)} |")
        for what, share in row.shares.items():
            cells = [f"{share:.4f}", *[""] * (len(PAIRS) - 1)]
            lines.append(f"| {row.task} | {row.peer} | {what} | | {' | '.join(cells)} |")
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
