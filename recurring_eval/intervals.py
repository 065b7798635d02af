"""Intervals around an estimated score: split-conformal on studentised residuals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from recurring_eval.errors import InputError
from recurring_eval.records import ReplayResidual
from recurring_eval.validation import read_only_floats

MIN_RESIDUALS: Final = 9
"""Below this many residuals a rank threshold at 90 % does not exist."""

NEWEST_RESIDUALS: Final = 100

_BEYOND_RANKS: Final = 1.25
_PRIOR_RESIDUALS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfWidth:
    """Half-width of an interval and how far it can be trusted.

    Attributes
    ----------
    value : float
        As a fraction of the score's scale.
    provisional : bool
        Fewer than nine residuals: a t interval around prior knowledge.
    few_residuals : bool
        The rank threshold lies beyond the largest residual.
    """

    value: float
    provisional: bool = False
    few_residuals: bool = False

    def at_least(self, model_sd: float, *, level: float) -> "HalfWidth":
        """Widen to the normal interval of the model, z times its standard deviation."""
        floor = float(stats.norm.ppf((1.0 + level) / 2.0)) * model_sd
        return replace(self, value=max(self.value, floor))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformalScale:
    """Residuals of one method and k, ready to scale new intervals.

    Attributes
    ----------
    residuals : ndarray, shape (n,)
        Estimate less full pass rate of replayed or audited runs, oldest first.
    model_sd : ndarray, shape (n,)
        The method's model standard deviation for each of them.
    """

    residuals: NDArray[np.float64]
    model_sd: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "residuals", read_only_floats(self.residuals))
        object.__setattr__(self, "model_sd", read_only_floats(self.model_sd))
        if self.residuals.ndim != 1 or self.residuals.shape != self.model_sd.shape:
            raise InputError("`residuals` and `model_sd` must be equally long vectors")

    @property
    def n(self) -> int:
        """Number of residuals."""
        return len(self.residuals)

    @property
    def extra_variance(self) -> float:
        """Variance the model does not explain, tau squared (step 2)."""
        if self.n == 0:
            return 0.0
        size = np.abs(self.residuals)
        winsorised = np.minimum(size, np.quantile(size, 0.95))
        return max(0.0, float(np.mean(winsorised**2) - np.mean(self.model_sd**2)))

    def half_width(
        self, model_sd: float, *, level: float, pass_rate: float, k: int, n: int
    ) -> HalfWidth:
        """Half-width of this run's interval (steps 3 and 5).

        Parameters
        ----------
        model_sd : float
            u, the model standard deviation of the new estimate.
        level : float
            Nominal coverage, e.g. .9.
        pass_rate : float
            The estimate; with k and n used by the provisional rule only.
        k, n : int
            Questions observed, and questions the score is the mean of.
        """
        if self.n < MIN_RESIDUALS:
            width = provisional_half_width(self.residuals, pass_rate, k=k, n=n, level=level)
            return HalfWidth(value=width, provisional=True)
        extra = self.extra_variance
        scale = np.sqrt(self.model_sd**2 + extra)
        size = np.abs(self.residuals)
        studentised = np.zeros(self.n)
        np.divide(size, scale, out=studentised, where=scale > 0)
        rank = math.ceil(Fraction(repr(float(level))) * (self.n + 1))
        beyond = rank > self.n
        threshold = _BEYOND_RANKS * studentised.max() if beyond else np.sort(studentised)[rank - 1]
        value = math.sqrt(model_sd**2 + extra) * float(threshold)
        return HalfWidth(value=value, few_residuals=beyond)


def conformal_scale(
    residuals: Sequence[ReplayResidual], *, method: str, k: int, newest: int = NEWEST_RESIDUALS
) -> ConformalScale:
    """Scale for the intervals of one method and k from its newest residuals.

    Parameters
    ----------
    residuals : sequence of ReplayResidual
        Oldest first, of any methods and sizes.
    method : str
    k : int
    newest : int, optional
    """
    mine = [r for r in residuals if r.method == method and r.k == k][-newest:]
    return ConformalScale(
        residuals=np.array([r.error for r in mine]), model_sd=np.array([r.model_sd for r in mine])
    )


def require_level(level: float) -> None:
    """Refuse a coverage outside (0, 1) with an InputError."""
    if not 0.0 < level < 1.0:
        raise InputError(f"`level` is {level}; choose a coverage between 0 and 1, such as 0.9")


def provisional_half_width(
    residuals: ArrayLike, pass_rate: float, *, k: int, n: int, level: float
) -> float:
    r"""Half-width when fewer than nine residuals are known (step 5).

    :math:`t_{4+m} \sqrt{(4 s_0^2 + \sum e^2)/(4 + m)}` with m residuals and
    :math:`s_0^2 = p(1-p)(1-k/n)/k`. An estimate of 0 or 1 would give
    :math:`s_0 = 0`, so p is held between 1/(k+2) and 1 - 1/(k+2).
    """
    errors = np.asarray(residuals, dtype=np.float64)
    edge = 1.0 / (k + 2)
    p = min(max(pass_rate, edge), 1.0 - edge)
    prior = p * (1.0 - p) * max(0.0, 1.0 - k / n) / max(k, 1)
    freedom = _PRIOR_RESIDUALS + len(errors)
    variance = (_PRIOR_RESIDUALS * prior + float((errors**2).sum())) / freedom
    return float(stats.t.ppf((1.0 + level) / 2.0, freedom)) * math.sqrt(variance)


def rerun_half_width(
    this_run: float, added_variance: float, *, level: float, run_to_run_variance: float = 0.0
) -> float:
    r"""Half-width for the full score of the same agent, run again.

    :math:`h^2 = h_S^2 + z^2 (V_A - V_U + 2 g_U B g_A)/N^2 + z^2 v`, at least 0.

    Parameters
    ----------
    this_run : float
        :math:`h_S`, half-width of this run's interval.
    added_variance : float
        The term in V, B and g, as `ScoreVariance.rerun_variance` gives it.
    level : float
        Nominal coverage.
    run_to_run_variance : float, optional
        v, from same-configuration pairs (see `run_to_run_variance`).
    """
    z = float(stats.norm.ppf((1.0 + level) / 2.0))
    return math.sqrt(max(0.0, this_run**2 + z**2 * (added_variance + run_to_run_variance)))


def run_to_run_variance(differences: ArrayLike, *, verdict_variance: float = 0.0) -> float:
    """Variance between full scores of same-configuration pairs, verdict noise taken off.

    Parameters
    ----------
    differences : array_like, shape (n_pairs,)
        Later less earlier full pass rate of disjoint consecutive pairs.
    verdict_variance : float, optional
        The part of a squared difference that verdict noise explains.

    Returns
    -------
    float
        Mean squared difference less `verdict_variance`, at least 0; 0 without
        pairs.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.size == 0:
        return 0.0
    return max(0.0, float(np.mean(values**2)) - verdict_variance)
