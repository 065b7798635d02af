"""ATLAS as HSPR ports it: 4PL, EAP, one of the five most informative questions, p-IRT."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.four_pl import AbilityGrid, FourPl, eap, grid_posterior

Floats = NDArray[np.float64]

N_CANDIDATES: Final = 5
N_NODES: Final = 33

_DECIMALS: Final = 12
"""Informations that agree to so many decimals are equal, and come in question order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasRuns:
    """What m runs were asked and what is said of them.

    Attributes
    ----------
    score, model_sd, ability, ability_sd : ndarray, shape (m,)
        `model_sd` is the score's posterior standard deviation under the model.
    asked : ndarray of bool, shape (m, n)
    """

    score: Floats
    model_sd: Floats
    ability: Floats
    ability_sd: Floats
    asked: NDArray[np.bool_]


def atlas_runs(
    bank: FourPl,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    k: int,
    *,
    draws: Floats,
) -> AtlasRuns:
    """Ask up to k questions of each run, one at a time, and predict the rest.

    Ability is the posterior mean on 33 nodes with an N(0, 1) prior; the next
    question is one of the five unasked with the largest Fisher information at
    it, each with the same chance, from the first question on.

    Parameters
    ----------
    bank : FourPl
        n items.
    passes, trials : ndarray of int, shape (m, n)
        Full verdict counts, read where asked; only valid questions are asked
        and make up the score.
    k : int
    draws : ndarray, shape (m, k)
        Uniform on [0, 1).

    References
    ----------
    Li et al. 2026 (ATLAS); the port's fixed budget and 4PL bank: HSPR.
    """
    m, n = trials.shape
    grid = AbilityGrid.trapezoid(N_NODES)
    curves = bank.probability(grid.nodes[:, np.newaxis])
    log_pass, log_fail = np.log(curves).T, np.log1p(-curves).T
    log_likelihood = np.zeros((m, N_NODES))
    asked = np.zeros((m, n), dtype=np.bool_)
    ability, spread = eap(log_likelihood, grid)
    for step in range(k):
        rows = np.flatnonzero(((trials > 0) & ~asked).any(axis=1))
        if not len(rows):
            break
        information = bank.information(ability[rows, np.newaxis])
        offered = np.where((trials[rows] > 0) & ~asked[rows], information, -1.0)
        chosen = _one_of_the_best(offered, draws[rows, step])
        asked[rows, chosen] = True
        s, t = passes[rows, chosen][:, np.newaxis], trials[rows, chosen][:, np.newaxis]
        log_likelihood[rows] += s * log_pass[chosen] + (t - s) * log_fail[chosen]
        ability[rows], spread[rows] = eap(log_likelihood[rows], grid)
    posterior = grid_posterior(log_likelihood, grid)
    score, model_sd = _pirt(bank, ability, posterior, curves, passes, trials, asked)
    return AtlasRuns(
        score=score, model_sd=model_sd, ability=ability, ability_sd=spread, asked=asked
    )


def _one_of_the_best(offered: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Position drawn among each row's best, never one offered at less than zero."""
    ranked = np.argsort(-np.round(offered, _DECIMALS), axis=1, kind="stable")[:, :N_CANDIDATES]
    rows = np.arange(len(offered))
    n_offered = (offered[rows[:, np.newaxis], ranked] >= 0).sum(axis=1)
    place = np.minimum((uniform * n_offered).astype(np.intp), n_offered - 1)
    return np.asarray(ranked[rows, place])


def _pirt(
    bank: FourPl,
    ability: Floats,
    posterior: Floats,
    curves: Floats,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    asked: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """Observed outcomes and predictions at the final ability; and the posterior's deviation."""
    valid = trials > 0
    predicted = bank.probability(ability[:, np.newaxis])
    outcomes = np.divide(passes, trials, out=np.zeros(trials.shape), where=valid)
    size = valid.sum(axis=1)
    total = np.where(valid, np.where(asked, outcomes, predicted), 0.0).sum(axis=1)
    score = np.divide(total, size, out=np.full(len(size), np.nan), where=size > 0)
    rest = np.where(valid & ~asked, 1.0, 0.0)
    expected, noise = rest @ curves.T, rest @ (curves * (1.0 - curves)).T
    mean = (posterior * expected).sum(axis=1, keepdims=True)
    variance = (posterior * (noise + (expected - mean) ** 2)).sum(axis=1)
    return score, np.sqrt(variance) / np.maximum(size, 1)
