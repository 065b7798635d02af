"""PTA-IRT without its teacher: choosing questions and scoring with the student's 4PL."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.four_pl import FourPl
from recurring_eval.proportional import proportional_quotas
from recurring_eval.validation import require_subset_size

Floats = NDArray[np.float64]

N_BINS: Final = 7
RIDGE: Final = 0.01
MAX_ITERATIONS: Final = 100

_START_RANGE: Final = (0.001, 0.999)
_LONGEST_STEP: Final = 1.0
_SETTLED: Final = 1e-10


def pta_questions(
    bank: FourPl,
    ability: Floats,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    k: int,
) -> NDArray[np.intp]:
    """Positions of k questions with most Fisher information, spread over pass-rate bins.

    Information is averaged over the source runs' abilities. Seven bins of equal
    width get quotas in proportion to their questions, by largest remainders.
    The published score has a second factor, the weight of the trajectories
    behind a question, which is constant here: they are not public.

    Parameters
    ----------
    bank : FourPl
        n items.
    ability : ndarray, shape (m,)
        Of the source runs.
    passes, trials : ndarray of int, shape (n,)
        Totals of the source by question.
    k : int

    References
    ----------
    Duan et al. 2026 (PTA-IRT).
    """
    require_subset_size(k, len(trials))
    information = bank.information(ability[:, np.newaxis]).mean(axis=0)
    counts = np.asarray(passes, dtype=np.int64)
    middle = np.full(len(trials), N_BINS // 2, dtype=np.int64)
    which = np.floor_divide(N_BINS * counts, trials, out=middle, where=np.asarray(trials) > 0)
    which = np.minimum(which, N_BINS - 1)
    quotas = proportional_quotas(np.bincount(which, minlength=N_BINS), k)
    order = np.argsort(-np.round(information, 12), kind="stable")
    return np.sort(
        np.concatenate([order[which[order] == b][:quota] for b, quota in enumerate(quotas)])
    )


def pta_scores(
    bank: FourPl, outcomes: Floats, observed: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    r"""Mean predicted pass rate of the observed questions, as published, and the abilities.

    The ability minimises the mean cross entropy plus :math:`.01 \theta^2`, from
    the logit of the observed rate. The published estimate is the mean over the
    *selected* questions, not over the bank.

    Parameters
    ----------
    bank : FourPl
        n items.
    outcomes : ndarray, shape (m, n)
        Pass rates, read where `observed`.
    observed : ndarray of bool, shape (m, n)

    Returns
    -------
    score, ability : ndarray, shape (m,)
        NaN and 0 for a run without an observed question.
    """
    size = observed.sum(axis=1)
    mean = np.where(observed, outcomes, 0.0).sum(axis=1) / np.maximum(size, 1)
    start = np.clip(np.where(size > 0, mean, 0.5), *_START_RANGE)
    ability = np.log(start / (1.0 - start))
    waiting = np.flatnonzero(size > 0)
    step_limit = np.full(len(ability), _LONGEST_STEP)
    value = _loss(bank, ability, outcomes, observed)
    for _ in range(MAX_ITERATIONS):
        if not len(waiting):
            break
        step = _scoring_step(bank, ability[waiting], outcomes[waiting], observed[waiting])
        step = np.clip(step, -step_limit[waiting], step_limit[waiting])
        proposal = ability[waiting] + step
        reached = _loss(bank, proposal, outcomes[waiting], observed[waiting])
        better = reached <= value[waiting]
        ability[waiting[better]] = proposal[better]
        value[waiting[better]] = reached[better]
        step_limit[waiting[~better]] = np.abs(step[~better]) / 2.0
        waiting = waiting[np.abs(step) > _SETTLED]
    predicted = np.where(observed, bank.probability(ability[:, np.newaxis]), 0.0).sum(axis=1)
    score = np.divide(predicted, size, out=np.full(len(size), np.nan), where=size > 0)
    return score, np.where(size > 0, ability, 0.0)


def _loss(bank: FourPl, ability: Floats, outcomes: Floats, observed: NDArray[np.bool_]) -> Floats:
    p = bank.probability(ability[:, np.newaxis])
    entropy = -(outcomes * np.log(p) + (1.0 - outcomes) * np.log1p(-p))
    size = np.maximum(observed.sum(axis=1), 1)
    return np.asarray(np.where(observed, entropy, 0.0).sum(axis=1) / size + RIDGE * ability**2)


def _scoring_step(
    bank: FourPl, ability: Floats, outcomes: Floats, observed: NDArray[np.bool_]
) -> Floats:
    p = bank.probability(ability[:, np.newaxis])
    information = bank.information(ability[:, np.newaxis])
    # P' is the root of the information times P (1 - P); slopes are positive.
    pull = (outcomes - p) * np.sqrt(information / (p * (1.0 - p)))
    size = np.maximum(observed.sum(axis=1), 1)
    gradient = np.where(observed, pull, 0.0).sum(axis=1) / size - 2.0 * RIDGE * ability
    curvature = np.where(observed, information, 0.0).sum(axis=1) / size + 2.0 * RIDGE
    return np.asarray(gradient / curvature)
