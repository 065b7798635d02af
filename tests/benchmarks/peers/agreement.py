"""How far two sets of parameters agree once they are on one scale."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.peers.problems import Floats, Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Pearson correlation and root mean square difference over `n` values."""

    correlation: float
    rmse: float
    n: int


def agreement(one: Floats, other: Floats) -> Agreement:
    """Compare the values that are finite in both."""
    both = np.isfinite(one) & np.isfinite(other)
    a, b = one[both], other[both]
    return Agreement(
        correlation=float(np.corrcoef(a, b)[0, 1]),
        rmse=float(np.sqrt(np.mean((a - b) ** 2))),
        n=int(both.sum()),
    )


def informative(verdicts: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Questions with at least one pass and one fail: the others have no finite ML estimate."""
    return np.asarray((verdicts == 1).any(axis=0) & (verdicts == 0).any(axis=0))


def centred(found: Parameters, questions: NDArray[np.bool_]) -> Parameters:
    """Rasch scale: the mean difficulty of the compared questions is zero, the unit is the logit."""
    used = found.intercept[questions]
    shift = float(used[np.isfinite(used)].mean())
    return Parameters(
        slope=found.slope, intercept=found.intercept - shift, ability=found.ability - shift
    )


def standardised(found: Parameters) -> Parameters:
    """2PL scale: the runs' abilities have mean 0 and standard deviation 1, and passes rise.

    Linking by common persons: with theta = mean + sd * z the model is
    slope * sd * z - (intercept - slope * mean). A solution with most slopes negative
    is the mirror image of one with positive slopes and is turned first.
    """
    sign = 1.0 if np.nansum(found.slope) >= 0 else -1.0
    ability, slope = sign * found.ability, sign * found.slope
    mean, sd = float(ability.mean()), float(ability.std())
    return Parameters(
        slope=slope * sd, intercept=found.intercept - slope * mean, ability=(ability - mean) / sd
    )


def on_one_scale(found: Parameters, *, model: str, questions: NDArray[np.bool_]) -> Parameters:
    """The usual alignment of the model, on the compared questions alone."""
    aligned = centred(found, questions) if model == "rasch" else standardised(found)
    return Parameters(
        slope=aligned.slope[questions],
        intercept=aligned.intercept[questions],
        ability=aligned.ability,
    )
