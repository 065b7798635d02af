"""Whether our packages are ours: others may install one called `storage` or `reports`.

Imports nothing of them, so that it can tell when the rest cannot be imported.
"""

import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Final

PACKAGES: Final = ("jobs", "storage", "reports", "recurring_eval")
DISTRIBUTION: Final = "recurring-eval"


def foreign_packages() -> list[str]:
    """List the packages that resolve to, or are also installed by, somebody else."""
    home = Path(__file__).resolve().parents[2]
    problems = []
    owners = importlib.metadata.packages_distributions()
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        places = (
            [] if spec is None else [*(spec.submodule_search_locations or ()), str(spec.origin)]
        )
        if Path(str(places[0] if places else "")).resolve() != home / name:
            found = places[0] if places else "nowhere"
            problems.append(f"package `{name}` resolves to {found}, not to {home / name}")
            continue
        others = sorted({*owners.get(name, [])} - {DISTRIBUTION, DISTRIBUTION.replace("-", "_")})
        if others:
            problems.append(f"package `{name}` is also installed by {', '.join(others)}")
    return problems
