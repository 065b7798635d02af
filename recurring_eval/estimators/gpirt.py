"""gp-IRT: a blend of the weighted mean and p-IRT, by their expected errors."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.ability import estimate_abilities
from recurring_eval.calibration.models import Model
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.estimators.score import observed_mask, pirt_score, weighted_score
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates

STRATA_DIVISOR: Final = 4.0
"""Strata and anchors halve the standard error of the mean (Maia Polo et al. 2024)."""

RANDOM_DIVISOR: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpirtConstants:
    """What the blend needs to know about the history.

    Attributes
    ----------
    outcome_variance : float
        Mean over runs of ``s (1 - s)``, s the run's pass rate.
    irt_bias : float
        Mean absolute error of p-IRT on held-out runs, as a fraction.
    """

    outcome_variance: float
    irt_bias: float

    def __post_init__(self) -> None:
        for name in ("outcome_variance", "irt_bias"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise InputError(f"`{name}` is {value}; it must be finite and at least 0")


def gpirt_weight(
    constants: GpirtConstants, n_observed: ArrayLike, *, design_divisor: float = STRATA_DIVISOR
) -> NDArray[np.float64]:
    r"""Share of the weighted mean in the blend, :math:`b^2 / (\sigma^2/(c\,B) + b^2)`.

    Parameters
    ----------
    constants : GpirtConstants
    n_observed : array_like of int
        Number B of questions observed.
    design_divisor : float, optional
        c: 4 for strata and anchors, 1 for random questions.

    Returns
    -------
    ndarray, in [0, 1]
        0 where nothing was observed or the bias is zero.

    References
    ----------
    She and Lin 2026, equation 15.
    """
    bias = np.asarray(constants.irt_bias**2 * design_divisor * np.asarray(n_observed, dtype=float))
    total = constants.outcome_variance + bias
    return outcome_rates(bias, total)


def gpirt_score(
    model: Model,
    ability: ArrayLike,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    weights: NDArray[np.float64],
    constants: GpirtConstants,
    population: NDArray[np.bool_] | None = None,
    design_divisor: float = STRATA_DIVISOR,
) -> NDArray[np.float64]:
    """Blend of the weighted mean and p-IRT over the chosen questions.

    Parameters
    ----------
    model, ability, passes, trials, population
        As in `pirt_score`.
    weights : ndarray, shape (n,)
        As in `weighted_score`; the chosen questions are those above zero.
    constants : GpirtConstants
    design_divisor : float, optional
        As in `gpirt_weight`.

    Returns
    -------
    ndarray, shape (...)
        p-IRT alone for a run without a valid verdict on any chosen question.
    """
    asked = weights > 0
    observed, _ = observed_mask(trials, asked, population)
    share = gpirt_weight(constants, observed.sum(axis=-1), design_divisor=design_divisor)
    weighted = weighted_score(passes, trials, weights, population=population)
    pirt = pirt_score(model, ability, passes, trials, asked=asked, population=population)
    return np.where(np.isnan(weighted), pirt, share * weighted + (1.0 - share) * pirt)


def fit_gpirt_constants(
    matrix: ResponseMatrix,
    *,
    rng: np.random.Generator,
    fit: Callable[[ResponseMatrix], Model] = fit_rasch,
) -> GpirtConstants:
    """Measure the two constants of the blend on a history of full runs.

    The bias is the mean absolute error of the p-IRT *score* on the later half
    of the runs, half of each run's valid outcomes revealed, under a model
    fitted on the earlier half.

    Parameters
    ----------
    matrix : ResponseMatrix
        Calibration runs, in any order.
    rng : numpy.random.Generator
        Chooses the outcomes to reveal.
    fit : callable, optional
        Fits the model behind p-IRT to the earlier half.

    Raises
    ------
    NotEnoughDataError
        With fewer than 4 runs that have a verdict.
    """
    history = matrix.in_canonical_order()
    if history.n_runs < 4:
        raise NotEnoughDataError(
            f"gp-IRT needs 4 full runs to measure its constants, the history has {history.n_runs};"
            " use the weighted estimator until then"
        )
    rates = history.pass_rates()
    half = history.n_runs // 2
    model = fit(history.select_runs(slice(None, half)))
    later = history.select_runs(slice(half, None))
    revealed = reveal_half(later.trials > 0, rng)
    ability = estimate_abilities(
        model, np.where(revealed, later.passes, 0), np.where(revealed, later.trials, 0)
    )
    predicted = pirt_score(
        model, ability, later.passes, later.trials, asked=revealed, population=later.trials > 0
    )
    return GpirtConstants(
        outcome_variance=float(np.mean(rates * (1.0 - rates))),
        irt_bias=float(np.mean(np.abs(predicted - rates[half:]))),
    )


def reveal_half(valid: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Random half (rounded down) of the true cells of each row."""
    keys = np.where(valid, rng.random(valid.shape), np.inf)
    rank = np.argsort(np.argsort(keys, axis=1), axis=1)
    chosen: NDArray[np.bool_] = valid & (rank < valid.sum(axis=1, keepdims=True) // 2)
    return chosen
