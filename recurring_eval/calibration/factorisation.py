"""Logistic matrix factorisation without intercepts, its rank and penalty by cell validation."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from recurring_eval.errors import NotEnoughDataError

Floats = NDArray[np.float64]

RANKS: Final = (1, 2, 4, 8, 16)
PENALTIES: Final = (0.5, 1.5, 4.0)
N_FOLDS: Final = 3
MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-7

_ROUGH_ITERATIONS: Final = 60
_ROUGH_TOLERANCE: Final = 1e-5
"""Of the validation fits; a finer one moves no good candidate's loss by .001."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factorisation:
    """Factors with ``logit P(run i passes question j) = runs[i] @ questions[j]``.

    Attributes
    ----------
    runs : ndarray, shape (m, rank)
    questions : ndarray, shape (n, rank)
    """

    runs: Floats
    questions: Floats


def factorise(
    passes: Floats,
    trials: Floats,
    *,
    rank: int,
    penalty: float,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Factorisation:
    r"""Maximise the likelihood less :math:`\lambda (|U|^2 + |V|^2) / 2`, from a spectral start.

    Parameters
    ----------
    passes, trials : ndarray, shape (m, n)
        Counts; cells without trials are left out of the likelihood.
    rank : int
        At most min(m, n).
    penalty : float
    tolerance : float, optional
        Of the objective, relative.
    max_iterations : int, optional

    References
    ----------
    Wu, Nair and Candès 2026, whose optimiser (AdamW, 2000 steps) is replaced by L-BFGS.
    """
    m = len(passes)
    start = _spectral_start(passes, trials, rank)

    def objective(packed: Floats) -> tuple[float, Floats]:
        factors = packed.reshape(-1, rank)
        runs, questions = factors[:m], factors[m:]
        x = runs @ questions.T
        residual = trials * special.expit(x) - passes
        value = float((trials * np.logaddexp(0.0, x) - passes * x).sum())
        gradient = np.concatenate([residual @ questions, residual.T @ runs])
        gradient += penalty * factors
        return value + penalty * float(packed @ packed) / 2, gradient.ravel()

    found = optimize.minimize(
        objective,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "ftol": tolerance},
    )
    factors = found.x.reshape(-1, rank)
    return Factorisation(runs=factors[:m], questions=factors[m:])


def select_factorisation(
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    rng: np.random.Generator,
) -> Factorisation:
    """Factorise with the rank and penalty that best predict held-out cells.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (m, n)
    rng : numpy.random.Generator
        Shares the cells out to the folds.

    Raises
    ------
    NotEnoughDataError
        There are fewer than two runs or questions, or too few cells.
    """
    most = min(trials.shape) - 1
    valid = np.flatnonzero(trials)
    if most < 1 or len(valid) < N_FOLDS:
        raise NotEnoughDataError(
            f"{trials.shape[0]} runs x {trials.shape[1]} questions are too few to factorise; "
            "at least 2 of each are needed"
        )
    s, t = passes.astype(np.float64), trials.astype(np.float64)
    fold = np.full(trials.size, -1)
    fold[rng.permutation(valid)] = np.arange(len(valid)) % N_FOLDS
    folds = fold.reshape(trials.shape)
    settings = [(rank, penalty) for rank in RANKS if rank <= most for penalty in PENALTIES]
    losses = [
        sum(_held_out_loss(s, t, folds == i, rank, penalty) for i in range(N_FOLDS))
        for rank, penalty in settings
    ]
    rank, penalty = settings[int(np.argmin(losses))]
    return factorise(s, t, rank=rank, penalty=penalty)


def _held_out_loss(
    passes: Floats, trials: Floats, held_out: NDArray[np.bool_], rank: int, penalty: float
) -> float:
    seen = ~held_out
    fitted = factorise(
        passes * seen,
        trials * seen,
        rank=rank,
        penalty=penalty,
        tolerance=_ROUGH_TOLERANCE,
        max_iterations=_ROUGH_ITERATIONS,
    )
    x = (fitted.runs @ fitted.questions.T)[held_out]
    return float((trials[held_out] * np.logaddexp(0.0, x) - passes[held_out] * x).sum())


def _spectral_start(passes: Floats, trials: Floats, rank: int) -> Floats:
    """Leading singular vectors of the verdicts as signs, missing ones zero, (m + n, rank)."""
    signs = np.divide(2.0 * passes - trials, trials, out=np.zeros(trials.shape), where=trials > 0)
    left, scale, right = np.linalg.svd(2.0 * signs, full_matrices=False)
    root = np.sqrt(scale[:rank])
    return np.concatenate([left[:, :rank] * root, right[:rank].T * root])
