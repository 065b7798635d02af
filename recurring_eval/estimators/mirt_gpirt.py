"""p-IRT and gp-IRT with a multidimensional 2PL."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.mirt import fit_mirt, largest_dimension
from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.estimators.gpirt import (
    STRATA_DIVISOR,
    GpirtConstants,
    gpirt_weight,
    reveal_half,
)
from recurring_eval.estimators.outcomes import observed_mask, outcome_rates
from recurring_eval.estimators.weighted import weighted_score
from recurring_eval.irt import sigmoid
from recurring_eval.mirt_ability import estimate_mirt_abilities
from recurring_eval.response_matrix import ResponseMatrix


def mirt_pirt_score(
    model: MirtModel,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_],
    population: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Mean over the population of observed outcomes and predicted ones, plug-in form.

    Parameters
    ----------
    model : MirtModel
        n questions.
    passes, trials : ndarray of int, shape (m, n)
        Verdict counts; those that were not asked are ignored.
    asked : ndarray of bool, shape (n,) or (m, n)
    population : ndarray of bool, shape (m, n)

    Returns
    -------
    ndarray, shape (m,)
        NaN for an empty population.
    """
    ability = estimate_mirt_abilities(model, np.where(asked, passes, 0), np.where(asked, trials, 0))
    predicted = sigmoid(ability @ model.discrimination.T - model.difficulty)
    observed, population = observed_mask(trials, asked, population)
    values = np.where(observed, outcome_rates(passes, trials), predicted)
    count = population.sum(axis=-1)
    total = np.where(population, values, 0.0).sum(axis=-1)
    score = np.full(len(count), np.nan)
    np.divide(total, count, out=score, where=count > 0)
    return score


def mirt_gpirt_score(
    model: MirtModel,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    weights: NDArray[np.float64],
    constants: GpirtConstants,
    population: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Blend of the weighted mean and p-IRT over anchors or strata.

    Parameters
    ----------
    model, passes, trials, population
        As in `mirt_pirt_score`.
    weights : ndarray, shape (n,)
        The chosen questions are those above zero.
    constants : GpirtConstants
        Measured with this model (`fit_mirt_gpirt_constants`).

    Returns
    -------
    ndarray, shape (m,)
        p-IRT alone for a run without a valid verdict on any chosen question.
    """
    asked = weights > 0
    observed, _ = observed_mask(trials, asked, population)
    share = gpirt_weight(constants, observed.sum(axis=-1), design_divisor=STRATA_DIVISOR)
    weighted = weighted_score(passes, trials, weights, population=population)
    pirt = mirt_pirt_score(model, passes, trials, asked=asked, population=population)
    return np.where(np.isnan(weighted), pirt, share * weighted + (1.0 - share) * pirt)


def fit_mirt_gpirt_constants(
    matrix: ResponseMatrix,
    *,
    dimensions: int,
    discrimination_sd: float,
    rng: np.random.Generator,
) -> GpirtConstants:
    """Measure the blend's constants as `fit_gpirt_constants` does, with a multidimensional 2PL.

    Parameters
    ----------
    matrix : ResponseMatrix
        Calibration runs, in any order.
    dimensions : int
        No more than the earlier half of the runs allows are used.
    discrimination_sd : float
    rng : numpy.random.Generator

    Raises
    ------
    NotEnoughDataError
        There are fewer than four runs with a verdict.
    """
    history = matrix.in_canonical_order()
    if history.n_runs < 4:
        raise NotEnoughDataError(
            f"gp-IRT constants need 4 runs with a verdict; the history has {history.n_runs}"
        )
    half = history.n_runs // 2
    earlier, later = history.select_runs(slice(None, half)), history.select_runs(slice(half, None))
    model = fit_mirt(
        earlier,
        dimensions=min(dimensions, largest_dimension(earlier)),
        discrimination_sd=discrimination_sd,
    )
    valid = later.trials > 0
    predicted = mirt_pirt_score(
        model, later.passes, later.trials, asked=reveal_half(valid, rng), population=valid
    )
    rates = history.pass_rates()
    return GpirtConstants(
        outcome_variance=float(np.mean(rates * (1.0 - rates))),
        irt_bias=float(np.mean(np.abs(predicted - rates[half:]))),
    )
