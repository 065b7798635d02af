"""CPU time and agreement of parameters beside girth, py-irt, catsim and adaptivetesting.

Run it in the repository's own environment, from the repository's root::

    python -m tests.benchmarks.peers --environment /tmp/peers --build --json peers.json
    python -m tests.benchmarks.peers --environment /tmp/peers --work /tmp/peers-results

``--build`` makes a virtual environment there, outside the repository, and installs the
peers from PyPI (torch among them, several hundred MB); the comparison itself takes five
to six CPU minutes. Without ``--environment`` it is
made in a temporary folder and thrown away. A peer that cannot be installed or fails is
in the table with the reason. ``--work`` keeps each worker's result, and a result already
there is used again, so an interrupted comparison goes on where it stopped. ``--check``
ends with status 1 where the parameters do not agree; times are only reported.

All workers get the same files, one thread and a fresh process; CPU seconds are those of
a fit or of a step, without imports and reading. Conventions: see `docs/benchmarks.md`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.peers.check import disagreements
from tests.benchmarks.peers.environment import (
    PEERS,
    PeersError,
    build_environment,
    installed,
    refusals,
)
from tests.benchmarks.peers.measure import Place, Row, compare_fits, compare_steps
from tests.benchmarks.peers.problems import fit_problem, step_problem
from tests.benchmarks.peers.table import agreement_table, as_json, ratio_table

MISSING = 0.1
K = 60
SEED = 20260101


def compare(place: Place, *, seed: int = SEED) -> list[Row]:
    """All tasks, those with missing verdicts included."""
    versions, reasons = installed(place.environment), refusals(place.environment)
    absent = {peer: reasons.get(peer, "not installed") for peer in PEERS if versions[peer] is None}
    rows = []
    for number, model in enumerate(("rasch", "2pl")):
        rng = np.random.default_rng([seed, number])
        rows += compare_steps(step_problem(model, k=K, rng=rng), place, absent)
        for missing in (0.0, MISSING):
            rows += compare_fits(fit_problem(model, missing=missing, rng=rng), place, absent)
    return sorted(rows, key=lambda row: row.task)


def report(arguments: argparse.Namespace, environment: Path, folder: Path) -> int:
    """Build when asked, measure, print, judge."""
    if arguments.build:
        build_environment(environment)
    folder.mkdir(parents=True, exist_ok=True)
    place = Place(
        environment=environment,
        folder=folder,
        epochs=arguments.epochs,
        progress=lambda text: print(text, file=sys.stderr, flush=True),
    )
    rows = compare(place, seed=arguments.seed)
    settings = {
        "seed": arguments.seed,
        "epochs of py-irt": arguments.epochs,
        "missing share": MISSING,
        "steps": K,
        "versions": installed(environment),
    }
    text = as_json(rows, settings)
    print(f"{ratio_table(rows)}\n\n{agreement_table(rows)}\n")
    if arguments.json is None:
        print(text)
    else:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    failures = disagreements(rows) if arguments.check else []
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def main() -> int:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers")
    parser.add_argument("--environment", type=Path, help="virtual environment with the peers")
    parser.add_argument("--build", action="store_true", help="make it and install the peers")
    parser.add_argument("--work", type=Path, help="folder that keeps the workers' results")
    parser.add_argument("--json", type=Path, help="write the JSON here instead of printing it")
    parser.add_argument("--check", action="store_true", help="fail where parameters disagree")
    parser.add_argument("--epochs", type=int, default=2000, help="of py-irt; 2000 is its default")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    if arguments.environment is None and not arguments.build:
        parser.error("give --environment, or --build to make one in a temporary folder")
    with tempfile.TemporaryDirectory() as scratch:
        environment = arguments.environment or Path(scratch) / "environment"
        folder = arguments.work or Path(scratch) / "results"
        try:
            return report(arguments, environment, folder)
        except PeersError as error:
            print(error, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
