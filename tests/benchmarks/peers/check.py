"""What agreement is asked for; times are reported, never asserted."""

from collections.abc import Sequence
from typing import Final

from tests.benchmarks.peers.measure import LEAST, Row

LEAST_CORRELATION: Final = {"difficulty": 0.98, "discrimination": 0.85, "ability": 0.95}
"""Of their estimates with ours, for any peer and task."""

SAME_ABILITY: Final = 1e-3
"""Root mean square difference, in logits, from the peer that has our estimator and prior."""

LEAST_INFORMATION: Final = 0.999
"""At one state a peer's choice must be as informative as ours: ties may be broken otherwise."""

MORE_ERROR: Final = {"difficulty": 1.1, "discrimination": 1.25}
"""Our root mean square error against the truth may be at most this multiple of theirs.

py-irt estimates the spread of the discriminations, and its lognormal is the one they were
drawn from; ours has a fixed prior, so some more error is no fault of the fit.
"""


def disagreements(rows: Sequence[Row]) -> list[str]:
    """One line for each tolerance that is missed; a peer that did not run is not judged."""
    found = []
    for row in rows:
        for what, value in row.agreements.items():
            if not what.endswith("theirs and ours"):
                continue
            least = LEAST_CORRELATION[what.split(":")[0]]
            if not value.correlation >= least:
                found.append(f"{row.task}, {row.peer}: {what} correlate {value.correlation:.3f}")
            if row.peer == "adaptivetesting" and not value.rmse <= SAME_ABILITY:
                found.append(f"{row.task}, {row.peer}: {what} are {value.rmse:.2g} logits apart")
        found += _worse_than_theirs(row)
        least_information = row.shares.get(LEAST, 1.0)
        if not LEAST_INFORMATION <= least_information <= 1 / LEAST_INFORMATION:
            found.append(f"{row.task}, {row.peer}: choices differ by {least_information:.4f}")
    return found


def _worse_than_theirs(row: Row) -> list[str]:
    found = []
    for label, most in MORE_ERROR.items():
        ours = row.agreements.get(f"{label}: ours and truth")
        theirs = row.agreements.get(f"{label}: theirs and truth")
        if ours and theirs and not ours.rmse <= most * theirs.rmse:
            found.append(
                f"{row.task}, {row.peer}: our {label} is off by {ours.rmse:.3f}, "
                f"theirs by {theirs.rmse:.3f}"
            )
    return found
