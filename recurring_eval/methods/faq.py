"""Factorized Active Querying: randomised questions, pro-active inference, no replacement."""

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import covariance_after
from recurring_eval.calibration.factorisation import Factorisation, select_factorisation
from recurring_eval.irt import sigmoid
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqSettings:
    """Sampling settings; the defaults are the published ones for a full history.

    Attributes
    ----------
    rho : float
        Share of the budget over which the active part fades.
    tau : float
        Share of uniform sampling, in (0, 1], which keeps every chance positive.
    """

    rho: float = 0.0
    tau: float = 0.25


PUBLISHED: Final = FaqSettings()


def sampling_chances(
    factors: Floats,
    mean: Floats,
    covariance: Floats,
    *,
    population: NDArray[np.bool_],
    unseen: NDArray[np.bool_],
    step: int,
    budget: int,
    settings: FaqSettings = PUBLISHED,
) -> Floats:
    """Chance of each question to be asked next, (m, n); zero where seen, rows sum to 1.

    Parameters
    ----------
    factors : ndarray, shape (n, r)
        Of the questions.
    mean, covariance : ndarray, shape (m, r) and (m, r, r)
        State of each run.
    population : ndarray of bool, shape (m, n)
        Questions the score is the mean of.
    unseen : ndarray of bool, shape (m, n)
        At least one per row.
    step, budget : int
        The first step is 1.
    settings : FaqSettings, optional
    """
    p = sigmoid(_products(mean, factors))
    weight = np.where(population, p * (1.0 - p), 0.0)
    size = population.sum(axis=1, keepdims=True)
    active = max(0.0, 1.0 - step / (settings.rho * budget)) if settings.rho > 0 else 0.0
    h = _normalised(np.sqrt(weight))
    if active > 0:
        gradient = _products(weight, factors.T) / size
        along = _products(np.matmul(covariance, gradient[..., np.newaxis])[..., 0], factors)
        spread = np.matmul(factors, covariance)
        own = (spread * factors).sum(axis=-1)
        gain = weight * along**2 / (1.0 + weight * own)
        h = (1.0 - active) * h + active * _normalised(gain)
    h = np.where(population, h, 0.0)
    q = (1.0 - settings.tau) * _normalised(h) + settings.tau * population / size
    return _normalised(np.where(unseen, q, 0.0))


def update_state(
    mean: Floats, covariance: Floats, factor: Floats, outcome: Floats
) -> tuple[Floats, Floats]:
    """State after one outcome per run: mean (m, r) and covariance (m, r, r).

    Parameters
    ----------
    mean, covariance : ndarray
    factor : ndarray, shape (m, r)
        Of the question each run answered.
    outcome : ndarray, shape (m,)
        Pass rates, 0 or 1 for a single trial.
    """
    p = sigmoid((mean * factor).sum(axis=1))
    weight = p * (1.0 - p)
    updated = covariance_after(covariance, factor, weight)
    step = np.matmul(updated, factor[..., np.newaxis])[..., 0] * (outcome - p)[:, np.newaxis]
    return mean + step, updated


def pai_term(
    predicted: Floats,
    outcomes: Floats,
    *,
    population: NDArray[np.bool_],
    seen: NDArray[np.bool_],
    chosen: NDArray[np.intp],
    chance: Floats,
) -> Floats:
    """One step's unbiased guess of the score, (m,).

    ``(sum_j p_j + (z - p) / q) / N``. Without replacement it is unbiased only if
    the p_j of questions seen before are replaced by their outcomes, which the
    released code does not do.

    Parameters
    ----------
    predicted, outcomes : ndarray, shape (m, n)
        Outcomes are read where `seen` and at `chosen`.
    population, seen : ndarray of bool, shape (m, n)
        `seen` before this step.
    chosen : ndarray of intp, shape (m,)
    chance : ndarray, shape (m,)
        With which each was chosen.
    """
    rows = np.arange(len(predicted))
    known = np.where(seen, outcomes, predicted)
    surprise = (outcomes[rows, chosen] - predicted[rows, chosen]) / chance
    total = np.where(population, known, 0.0).sum(axis=1) + surprise
    return np.asarray(total / population.sum(axis=1))


def faq_runs(
    factors: Floats,
    prior_mean: Floats,
    prior_covariance: Floats,
    outcomes: Floats,
    population: NDArray[np.bool_],
    k: int,
    *,
    draws: Floats,
    settings: FaqSettings = PUBLISHED,
) -> Scored:
    """Ask k questions of each run, one at a time, and average the steps' guesses.

    No interval is given: the published one is not valid without replacement.

    Parameters
    ----------
    factors : ndarray, shape (n, r)
    prior_mean, prior_covariance : ndarray, shape (r,) and (r, r)
        Of the factors of a new run.
    outcomes : ndarray, shape (m, n)
        Pass rates, read where asked.
    population : ndarray of bool, shape (m, n)
        Questions with a valid verdict, which can be asked and make up the score.
    k : int
        Fewer are asked where a run has fewer.
    draws : ndarray, shape (m, k)
        Uniform on [0, 1).
    settings : FaqSettings, optional

    References
    ----------
    Wu, Nair and Candès 2026; without replacement as HSPR ports it, corrected.
    """
    m = len(outcomes)
    mean = np.tile(prior_mean, (m, 1))
    covariance = np.tile(prior_covariance, (m, 1, 1))
    asked = np.zeros(population.shape, dtype=np.bool_)
    total = np.zeros(m)
    n_steps = np.zeros(m)
    for step in range(1, k + 1):
        rows = np.flatnonzero((population & ~asked).any(axis=1))
        if not len(rows):
            break
        seen, inside, z = asked[rows], population[rows], outcomes[rows]
        q = sampling_chances(
            factors,
            mean[rows],
            covariance[rows],
            population=inside,
            unseen=inside & ~seen,
            step=step,
            budget=k,
            settings=settings,
        )
        chosen = _draw(q, draws[rows, step - 1])
        local = np.arange(len(rows))
        p = sigmoid(_products(mean[rows], factors))
        total[rows] += pai_term(
            p, z, population=inside, seen=seen, chosen=chosen, chance=q[local, chosen]
        )
        n_steps[rows] += 1
        mean[rows], covariance[rows] = update_state(
            mean[rows], covariance[rows], factors[chosen], z[local, chosen]
        )
        asked[rows, chosen] = True
    score = np.divide(total, n_steps, out=np.full(m, np.nan), where=n_steps > 0)
    return Scored(score=score, observed=asked)


def _draw(chances: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Index drawn by each row's chances, never one without a chance."""
    cumulative = np.cumsum(chances, axis=1)
    reached = cumulative > uniform[:, np.newaxis] * cumulative[:, -1:]
    return np.asarray((reached & (chances > 0)).argmax(axis=1))


def _normalised(values: Floats) -> Floats:
    total = values.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(values, total, out=np.zeros(values.shape), where=total > 0)
    return shares


def _products(vectors: Floats, matrix: Floats) -> Floats:
    # One product per run: a joint one would round a run by its neighbours.
    return np.asarray(np.matmul(matrix, vectors[..., np.newaxis])[..., 0])


def score_faq(
    factors: Factorisation, targets: ResponseMatrix, k: int, rng: np.random.Generator
) -> Scored:
    """Ask each target its own randomised questions; the source runs' factors are the prior."""
    runs = factors.runs
    return faq_runs(
        factors.questions,
        runs.mean(axis=0),
        np.atleast_2d(np.cov(runs, rowvar=False)),
        outcome_rates(targets.passes, targets.trials),
        targets.trials > 0,
        k,
        draws=rng.random((targets.n_runs, k)),
    )


FAQ: Final = ReplayMethod(
    name="faq",
    description="Questions drawn by a factor model, without replacement; pro-active inference.",
    source="Wu, Nair and Candès 2026; HSPR's port, corrected",
    fit=lambda source, rng: partial(
        score_faq, select_factorisation(source.passes, source.trials, rng=rng)
    ),
)
