"""ATLAS as HSPR ports it: a 4PL bank, and one of its five most informative questions at a time.

The 2PL, 3PL and 4PL models of one ability are fitted by marginal likelihood and an ability is
their posterior mean (EAP); p-IRT estimates the score.
"""

from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.four_pl import AbilityGrid, FourPl, eap, fit_four_pl
from recurring_eval.estimators.score import score_with_predictions
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix

Floats = NDArray[np.float64]

N_CANDIDATES: Final = 5
ABILITY_NODES: Final = 33

_DECIMALS: Final = 12
"""Informations that agree to so many decimals are equal, and come in question order."""


def atlas_runs(
    bank: FourPl,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    k: int,
    *,
    draws: Floats,
) -> Scored:
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
    grid = AbilityGrid.trapezoid(ABILITY_NODES)
    curves = bank.probability(grid.nodes[:, np.newaxis])
    log_pass, log_fail = np.log(curves).T, np.log1p(-curves).T
    log_likelihood = np.zeros((m, ABILITY_NODES))
    asked = np.zeros((m, n), dtype=np.bool_)
    ability = eap(log_likelihood, grid)
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
        ability[rows] = eap(log_likelihood[rows], grid)
    predicted = bank.probability(ability[:, np.newaxis])
    return Scored(
        score=score_with_predictions(predicted, passes, trials, asked=asked, population=trials > 0),
        observed=asked,
    )


def _one_of_the_best(offered: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Position drawn among each row's best, never one offered at less than zero."""
    ranked = np.argsort(-np.round(offered, _DECIMALS), axis=1, kind="stable")[:, :N_CANDIDATES]
    rows = np.arange(len(offered))
    n_offered = (offered[rows[:, np.newaxis], ranked] >= 0).sum(axis=1)
    place = np.minimum((uniform * n_offered).astype(np.intp), n_offered - 1)
    return np.asarray(ranked[rows, place])


def score_atlas(bank: FourPl, targets: ResponseMatrix, k: int, rng: np.random.Generator) -> Scored:
    """Ask each target by the information at its ability."""
    draws = rng.random((targets.n_runs, k))
    return atlas_runs(bank, targets.passes, targets.trials, k, draws=draws)


ATLAS: Final = ReplayMethod(
    name="atlas",
    description="One question at a time, among the five most informative of a 4PL bank; p-IRT.",
    source="Li et al. 2026; HSPR's port",
    fit=lambda source, _: partial(score_atlas, fit_four_pl(source.passes, source.trials)),
)
