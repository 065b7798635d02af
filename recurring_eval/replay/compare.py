"""Paired comparison of methods on the same targets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

N_RESAMPLES: Final = 10_000
LEVEL: Final = 0.95
_BLOCK: Final = 500
_DECIMALS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedComparison:
    """Difference of two methods' mean absolute errors.

    Attributes
    ----------
    budget : str
    first, second : str
        Methods, the one with the smaller error first.
    difference_pp : float
        Mean absolute error of `first` less that of `second`; negative favours `first`.
    low_pp, high_pp : float
        95 % percentile interval over resampled targets, not adjusted for the number of
        comparisons.
    p_value : float
        Two-sided Wilcoxon signed-rank test.
    p_holm : float
        The same, adjusted for all comparisons made together.
    n_targets : int
        Paired targets.
    """

    budget: str
    first: str
    second: str
    difference_pp: float
    low_pp: float
    high_pp: float
    p_value: float
    p_holm: float
    n_targets: int


def compare_methods(
    errors: Mapping[str, Mapping[str, ArrayLike]],
    *,
    rng: np.random.Generator,
) -> list[PairedComparison]:
    """Compare every pair of methods by their absolute errors on the same targets.

    Parameters
    ----------
    errors : mapping of str to mapping of str to array_like, shape (m,)
        By budget and method: mean absolute error in pp on each target (agents where
        these are what varies, else runs). Targets that a method has no figure for
        (NaN) are left out.
    rng : numpy.random.Generator
        Draws the resamples, the same for all pairs of a budget.

    Returns
    -------
    list of PairedComparison
        By budget, best pair first; nothing for fewer than two methods or targets.
        Holm's adjustment is over all of them.
    """
    raw = [
        pair
        for (budget, of_methods), stream in zip(errors.items(), rng.spawn(len(errors)), strict=True)
        for pair in _compare(budget, of_methods, stream)
    ]
    adjusted = holm([pair.p_value for pair in raw])
    return [replace(pair, p_holm=float(p)) for pair, p in zip(raw, adjusted, strict=True)]


def _compare(
    budget: str, errors: Mapping[str, ArrayLike], rng: np.random.Generator
) -> list[PairedComparison]:
    names = list(errors)
    if len(names) < 2:
        return []
    table = np.array([np.asarray(errors[name], dtype=float) for name in names])
    table = table[:, np.isfinite(table).all(axis=0)]
    if table.shape[1] < 2:
        return []
    means = table.mean(axis=1)
    resampled = _resampled_means(table, rng)
    order = sorted(range(len(names)), key=lambda i: (means[i], i))
    tails = [50.0 * (1.0 - LEVEL), 50.0 * (1.0 + LEVEL)]
    result = []
    for i, j in combinations(order, 2):
        low, high = np.percentile(resampled[:, i] - resampled[:, j], tails)
        p_value = _signed_rank(table[i] - table[j])
        result.append(
            PairedComparison(
                budget=budget,
                first=names[i],
                second=names[j],
                difference_pp=float(means[i] - means[j]),
                low_pp=float(low),
                high_pp=float(high),
                p_value=p_value,
                p_holm=p_value,
                n_targets=table.shape[1],
            )
        )
    return result


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjustment, in the order of the given p values."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _resampled_means(table: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Means of resampled targets, shape (N_RESAMPLES, n_methods)."""
    n = table.shape[1]
    blocks = []
    for start in range(0, N_RESAMPLES, _BLOCK):
        size = min(_BLOCK, N_RESAMPLES - start)
        counts = rng.multinomial(n, np.full(n, 1.0 / n), size=size)
        blocks.append(counts @ table.T / n)
    return np.concatenate(blocks)


def _signed_rank(difference: NDArray[np.float64]) -> float:
    rounded = difference.round(_DECIMALS)
    if not rounded.any():
        return 1.0
    return float(stats.wilcoxon(rounded[rounded != 0]).pvalue)
