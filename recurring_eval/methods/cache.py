"""Questions not settled in the recent window; how many is an outcome."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.caching import CacheUse, cache_score
from recurring_eval.errors import InputError
from recurring_eval.methods.evidence import Evidence
from recurring_eval.methods.method import Method

_CHOOSES: Final = "questions not settled in the 7-day window"


def majority(evidence: Evidence) -> NDArray[np.float64]:
    """Observed outcomes, and the window's majority verdicts."""
    return _score(evidence, "majority")


def rate(evidence: Evidence) -> NDArray[np.float64]:
    """Observed outcomes, and the window's pass rates."""
    return _score(evidence, "rate")


def _score(evidence: Evidence, use: CacheUse) -> NDArray[np.float64]:
    if evidence.cache is None:
        raise InputError("the cache method needs a cache; recalibrate to build one")
    return cache_score(
        evidence.cache,
        evidence.passes,
        evidence.trials,
        use=use,
        population=evidence.population,
    )


CACHE: Final = Method(
    name="cache",
    chooses=_CHOOSES,
    estimates="observed + cached majority verdicts",
    design="cache",
    choose=None,
    score=majority,
    needs_cache=True,
    description="Runs what recent runs disagree about and reuses the settled verdicts.",
)

CACHE_RATE: Final = Method(
    name="cache+rate",
    chooses=_CHOOSES,
    estimates="observed + cached pass rates",
    design="cache",
    choose=None,
    score=rate,
    needs_cache=True,
    description="The same questions; settled ones count with their recent pass rate.",
)
