"""Small benchmarks with enough full runs for a real night."""

import random
from datetime import date, timedelta
from pathlib import Path

from tests.jobs.command_line import invoke, write_runs_csv


def import_benchmarks(folder: Path, *names: str, n_runs: int = 8, last: date) -> None:
    """Import a full run of 20 questions a day up to `last` for every benchmark."""
    paths = []
    for name in names:
        chance = random.Random(name)
        for back in range(n_runs):
            words = {
                f"q{n:02}": "pass" if chance.random() < n / 22 + 0.05 else "fail" for n in range(20)
            }
            path = folder / "small" / f"{name}-{back}.csv"
            path.parent.mkdir(exist_ok=True)
            day = (last - timedelta(days=back)).isoformat()
            paths.append(write_runs_csv(path, {f"{name}-{back}": words}, benchmark=name, day=day))
    outcome = invoke("import", "--create", "--quiet", *paths)
    assert outcome.code == 0, outcome
