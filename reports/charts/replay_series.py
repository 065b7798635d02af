"""Which methods of a replay are drawn, and in which colour; the same in all its charts."""

from collections import defaultdict
from typing import Final

from reports.replay_context import ReplayPage

MAX_COLOURED: Final = 6
OTHER: Final = "line-strong"


def ranked_methods(page: ReplayPage) -> list[str]:
    """Methods of the main group, the smallest error first.

    The errors are averaged over budgets, each relative to the best at its budget. Methods
    that decide their budget themselves come last: theirs are errors of other budgets.
    """
    own = {row.method for row in page.main_rows if row.decides_budget}
    best: dict[str, float] = {}
    for row in page.main_rows:
        best[row.budget] = min(best.get(row.budget, row.mae_pp), row.mae_pp)
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in page.main_rows:
        ratios[row.method].append((row.mae_pp + 0.1) / (best[row.budget] + 0.1))
    return sorted(
        ratios, key=lambda method: (method in own, sum(ratios[method]) / len(ratios[method]))
    )


def method_colours(page: ReplayPage) -> dict[str, str]:
    """Page colour of each method: the best ones and the baseline have their own.

    `random`, where it was tried, is always among them.
    """
    ranked = ranked_methods(page)
    own = ranked[:MAX_COLOURED]
    if "random" in ranked and "random" not in own:
        own[-1] = "random"
    places = {method: f"series-{place}" for place, method in enumerate(own, start=1)}
    return {method: places.get(method, OTHER) for method in ranked}
