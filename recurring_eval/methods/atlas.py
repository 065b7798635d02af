"""ATLAS as HSPR ports it: a 4PL bank, and one of its five most informative questions at a time.

The four-parameter logistic (4PL) model of one ability is fitted by marginal likelihood and an
ability is its posterior mean (EAP); p-IRT estimates the score.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from recurring_eval.estimators.score import score_with_predictions
from recurring_eval.irt import logit, sigmoid, smoothed_logit
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix

Floats = NDArray[np.float64]

SMALLEST: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class FourPl:
    r"""Item parameters: :math:`P(\theta) = c + (d - c)\,\sigma(a(\theta - b))`.

    With ``lower = 0`` and ``upper = 1`` it is the 2PL, with ``upper = 1`` the 3PL.

    Attributes
    ----------
    slope, location, lower, upper : ndarray, shape (n,)
        a, b, c and d.
    """

    slope: Floats
    location: Floats
    lower: Floats
    upper: Floats

    def probability(self, ability: ArrayLike) -> Floats:
        """Chance of a pass for abilities that broadcast with the items, in (0, 1)."""
        s = sigmoid(self.slope * (np.asarray(ability) - self.location))
        p = self.lower + (self.upper - self.lower) * s
        return np.clip(p, SMALLEST, 1.0 - SMALLEST)

    def information(self, ability: ArrayLike) -> Floats:
        r"""Fisher information about ability, :math:`P'^2 / (P (1 - P))`."""
        s = sigmoid(self.slope * (np.asarray(ability) - self.location))
        span = self.upper - self.lower
        p = np.clip(self.lower + span * s, SMALLEST, 1.0 - SMALLEST)
        return (self.slope * span * s * (1.0 - s)) ** 2 / (p * (1.0 - p))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbilityGrid:
    """Nodes of ability with normal prior weights that sum to one, each of shape (q,)."""

    nodes: Floats
    weights: Floats

    @classmethod
    def trapezoid(cls, n_nodes: int) -> "AbilityGrid":
        """Equally spaced nodes on [-4, 4], N(0, 1), the end weights halved."""
        nodes = np.linspace(-4.0, 4.0, n_nodes)
        weights = np.exp(-(nodes**2) / 2.0)
        weights[[0, -1]] /= 2.0
        return cls(nodes=nodes, weights=weights / weights.sum())


def grid_posterior(log_likelihood: Floats, grid: AbilityGrid) -> Floats:
    """Posterior weights of the nodes, shape (..., q), rows sum to 1."""
    log_weights = log_likelihood + np.log(grid.weights)
    return np.asarray(special.softmax(log_weights, axis=-1))


def eap(log_likelihood: Floats, grid: AbilityGrid) -> Floats:
    """Posterior mean of ability, shape (...).

    Parameters
    ----------
    log_likelihood : ndarray, shape (..., q)
        Of the outcomes so far at each node; zeros before any.
    grid : AbilityGrid

    References
    ----------
    Bock and Mislevy 1982; catR's grid has 33 nodes on [-4, 4].
    """
    return np.asarray((grid_posterior(log_likelihood, grid) * grid.nodes).sum(axis=-1))


FIT_NODES: Final = 41
MAX_ITERATIONS: Final = 300
TOLERANCE: Final = 1e-4
"""The fit ends when no probability at any node moves by more than this."""

LOG_SLOPE_SD: Final = 0.5
LOCATION_SD: Final = 2.0
LOWER_BETA: Final = (2.0, 18.0)
UPPER_BETA: Final = (18.0, 2.0)

_LONGEST_STEP: Final = 1.0
_HALVINGS: Final = 8
_ROUNDING: Final = 1e-10


def fit_four_pl(passes: NDArray[np.integer], trials: NDArray[np.integer]) -> FourPl:
    r"""Fit every item with priors, abilities integrated out over N(0, 1).

    ``log a ~ N(0, .5^2)``, ``b ~ N(0, 2^2)``, ``c ~ Beta(2, 18)`` and
    ``d ~ Beta(18, 2)`` keep ten runs and constant questions identified. Equal
    columns get equal parameters.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (m, n)
        Cells without trials are left out.

    References
    ----------
    Bock and Aitkin 1981. How ATLAS-port fits its bank is not published; the
    priors are ours.
    """
    cells = np.concatenate([passes, trials]).astype(np.float64)
    distinct, column = np.unique(cells, axis=1, return_inverse=True)
    s, t = np.split(distinct, 2)
    grid = AbilityGrid.trapezoid(FIT_NODES)
    parameters = _start(s, t)
    curves = _bank(parameters).probability(grid.nodes[:, np.newaxis])
    for _ in range(MAX_ITERATIONS):
        log_likelihood = s @ np.log(curves).T + (t - s) @ np.log1p(-curves).T
        posterior = grid_posterior(log_likelihood, grid)
        parameters = _improve(parameters, posterior.T @ s, posterior.T @ t, grid.nodes)
        before, curves = curves, _bank(parameters).probability(grid.nodes[:, np.newaxis])
        if np.abs(curves - before).max() <= TOLERANCE:
            break
    return _bank(parameters[:, column.ravel()])


def _start(passes: Floats, trials: Floats) -> Floats:
    """(log a, b, logit c, logit d) from smoothed pass rates and the priors' modes, (4, n)."""
    location = -smoothed_logit(passes.sum(axis=0), trials.sum(axis=0))
    n = passes.shape[1]
    lower, upper = 1.0 / 18.0, 17.0 / 18.0
    return np.stack([np.zeros(n), location, np.full(n, logit(lower)), np.full(n, logit(upper))])


def _bank(parameters: Floats) -> FourPl:
    log_slope, location, lower, upper = parameters
    return FourPl(
        slope=np.exp(log_slope), location=location, lower=sigmoid(lower), upper=sigmoid(upper)
    )


def _improve(parameters: Floats, passes: Floats, trials: Floats, nodes: Floats) -> Floats:
    """One scoring step per item on its expected counts (q, n), halved until it helps."""
    gradient, information = _score(parameters, passes, trials, nodes)
    step = np.linalg.solve(information, gradient.T[..., np.newaxis])[..., 0].T
    step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
    value = _objective(parameters, passes, trials, nodes)
    enough = value - _ROUNDING * (1.0 + np.abs(value))
    best = parameters
    waiting = np.ones(parameters.shape[1], dtype=np.bool_)
    for _ in range(_HALVINGS):
        proposal = parameters + step
        better = waiting & (_objective(proposal, passes, trials, nodes) >= enough)
        best = np.where(better, proposal, best)
        waiting &= ~better
        if not waiting.any():
            break
        step = step / 2.0
    return best


def _objective(parameters: Floats, passes: Floats, trials: Floats, nodes: Floats) -> Floats:
    bank = _bank(parameters)
    p = bank.probability(nodes[:, np.newaxis])
    likelihood = (passes * np.log(p) + (trials - passes) * np.log1p(-p)).sum(axis=0)
    log_slope, location, _, _ = parameters
    prior = -0.5 * (log_slope / LOG_SLOPE_SD) ** 2 - 0.5 * (location / LOCATION_SD) ** 2
    for share, (alpha, beta) in ((bank.lower, LOWER_BETA), (bank.upper, UPPER_BETA)):
        kept = np.clip(share, SMALLEST, 1.0 - SMALLEST)
        prior += (alpha - 1.0) * np.log(kept) + (beta - 1.0) * np.log1p(-kept)
    return np.where(bank.lower < bank.upper, likelihood + prior, -np.inf)


def _score(
    parameters: Floats, passes: Floats, trials: Floats, nodes: Floats
) -> tuple[Floats, Floats]:
    """Gradient (4, n) and expected information with the priors' (n, 4, 4)."""
    bank = _bank(parameters)
    distance = nodes[:, np.newaxis] - bank.location
    s = sigmoid(bank.slope * distance)
    span = bank.upper - bank.lower
    p = bank.probability(nodes[:, np.newaxis])
    bend = span * s * (1.0 - s) * bank.slope
    slopes = np.stack(
        [
            bend * distance,
            -bend,
            (1.0 - s) * bank.lower * (1.0 - bank.lower),
            s * bank.upper * (1.0 - bank.upper),
        ]
    )
    weight = 1.0 / (p * (1.0 - p))
    gradient = (slopes * (passes - trials * p) * weight).sum(axis=1)
    information = np.einsum("iqn,jqn->nij", slopes * (trials * weight), slopes)
    log_slope, location, _, _ = parameters
    gradient[0] -= log_slope / LOG_SLOPE_SD**2
    gradient[1] -= location / LOCATION_SD**2
    information[:, 0, 0] += 1.0 / LOG_SLOPE_SD**2
    information[:, 1, 1] += 1.0 / LOCATION_SD**2
    for i, (share, (alpha, beta)) in enumerate(
        ((bank.lower, LOWER_BETA), (bank.upper, UPPER_BETA)), start=2
    ):
        gradient[i] += (alpha - 1.0) * (1.0 - share) - (beta - 1.0) * share
        information[:, i, i] += (alpha + beta - 2.0) * share * (1.0 - share)
    return gradient, information


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
