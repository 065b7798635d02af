"""Posterior mode of a two-way logistic model, ``logit p_ij = row_i - column_j``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from recurring_eval.errors import FitError
from recurring_eval.one_thread import one_thread

Floats = NDArray[np.float64]

SUFFICIENT_INCREASE: Final = 1e-4
"""Share of the predicted gain that a step must deliver (Armijo)."""

SMALLEST_STEP: Final = 2.0**-40

ROUNDING: Final = 1e-12
"""Predicted gains below this share of the objective drown in its rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Trials per cell and passes per row and column, all the likelihood needs."""

    trials: Floats
    row_passes: Floats
    column_passes: Floats
    row_trials: Floats
    column_trials: Floats

    @classmethod
    def of(cls, passes: NDArray[np.int16], trials: NDArray[np.int16]) -> Self:
        """Sum up passes and trials, both of shape (m, n)."""
        return cls(
            trials=trials.astype(np.float64),
            row_passes=passes.sum(axis=1, dtype=np.float64),
            column_passes=passes.sum(axis=0, dtype=np.float64),
            row_trials=trials.sum(axis=1, dtype=np.float64),
            column_trials=trials.sum(axis=0, dtype=np.float64),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Where the iteration ended."""

    row: Floats
    column: Floats
    log_posterior: float
    log_likelihood: float
    converged: bool
    n_iterations: int
    last_step: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    row: Floats
    column: Floats
    probability: Floats
    log_likelihood: float
    log_posterior: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    row: Floats
    column: Floats
    predicted_gain: float

    @property
    def largest(self) -> float:
        return float(max(np.abs(self.row).max(), np.abs(self.column).max()))


def log_likelihood_of(counts: Counts, row: Floats, column: Floats) -> float:
    """Binomial log likelihood of the cells, without binomial coefficients."""
    return _evaluate(counts, row, column, 0.0, 0.0).log_likelihood


def maximise_posterior(
    counts: Counts,
    *,
    row_precision: float,
    column_precision: float,
    tolerance: float,
    max_iterations: int,
) -> Mode:
    """Full Newton steps with step halving; the objective is strictly concave.

    Row and column parameters have independent normal priors with mean zero and
    the given precisions (positive).

    Raises
    ------
    FitError
        Rounding defeats the iteration, as it can when the priors hardly count.
    """

    def evaluate(row: Floats, column: Floats) -> _Point:
        return _evaluate(counts, row, column, row_precision, column_precision)

    # One BLAS thread: the same bits whatever the number of cores, and at these
    # sizes more threads burn CPU without being faster.
    with one_thread():
        point = evaluate(*_start(counts))
        step = _newton_step(counts, point, row_precision, column_precision)
        n_iterations = 0
        while step.largest > tolerance and n_iterations < max_iterations:
            point = _advance(point, step, evaluate)
            step = _newton_step(counts, point, row_precision, column_precision)
            n_iterations += 1
    return Mode(
        row=point.row,
        column=point.column,
        log_posterior=point.log_posterior,
        log_likelihood=point.log_likelihood,
        converged=step.largest <= tolerance,
        n_iterations=n_iterations,
        last_step=step.largest,
    )


def _start(counts: Counts) -> tuple[Floats, Floats]:
    """Smoothed logits of the margins; exactly zero without trials."""
    row = _margin_logit(counts.row_passes, counts.row_trials)
    column = -_margin_logit(counts.column_passes, counts.column_trials)
    overall = _margin_logit(counts.row_passes.sum(), counts.row_trials.sum())
    return np.where(counts.row_trials > 0, row - overall, 0.0), column


def _margin_logit(passes: Floats, trials: Floats) -> Floats:
    return np.asarray(np.log((passes + 0.5) / (trials - passes + 0.5)))


def _evaluate(
    counts: Counts, row: Floats, column: Floats, row_precision: float, column_precision: float
) -> _Point:
    x = np.subtract.outer(row, column)
    decay = np.exp(-np.abs(x))
    # sum of trials * log(1 + exp(x)), written so that exp never overflows.
    softplus = np.maximum(x, 0.0) + np.log1p(decay)
    likelihood = counts.row_passes @ row - counts.column_passes @ column
    likelihood -= float(np.sum(counts.trials * softplus))
    penalty = row_precision * (row @ row) + column_precision * (column @ column)
    return _Point(
        row=row,
        column=column,
        probability=np.where(x >= 0, 1.0, decay) / (1.0 + decay),
        log_likelihood=float(likelihood),
        log_posterior=float(likelihood - penalty / 2),
    )


def _newton_step(
    counts: Counts, point: _Point, row_precision: float, column_precision: float
) -> _Step:
    """Solve with the Schur complement of the larger block, whose Hessian is diagonal."""
    expected = counts.trials * point.probability
    row_gradient = counts.row_passes - expected.sum(axis=1) - row_precision * point.row
    column_gradient = expected.sum(axis=0) - counts.column_passes
    column_gradient -= column_precision * point.column
    weight = expected * (1.0 - point.probability)
    row_diagonal = weight.sum(axis=1) + row_precision
    column_diagonal = weight.sum(axis=0) + column_precision
    if len(point.row) <= len(point.column):
        row, column = _solve_arrow(
            weight, row_diagonal, column_diagonal, row_gradient, column_gradient
        )
    else:
        column, row = _solve_arrow(
            weight.T, column_diagonal, row_diagonal, column_gradient, row_gradient
        )
    gain = float(row @ row_gradient + column @ column_gradient) / 2
    return _Step(row=row, column=column, predicted_gain=gain)


def _solve_arrow(
    weight: Floats, small: Floats, large: Floats, right_small: Floats, right_large: Floats
) -> tuple[Floats, Floats]:
    """Solve ``[[diag(small), -weight], [-weight.T, diag(large)]] x = right``."""
    scaled = weight / np.sqrt(large)
    schur = np.diag(small) - scaled @ scaled.T
    try:
        factor = linalg.cho_factor(schur, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise FitError("the Hessian of the fit is singular; tighten the priors") from error
    x_small = linalg.cho_solve(
        factor, right_small + weight @ (right_large / large), check_finite=False
    )
    return x_small, (right_large + x_small @ weight) / large


def _advance(point: _Point, step: _Step, evaluate: Callable[[Floats, Floats], _Point]) -> _Point:
    """Halve the step until it delivers its share of the gain it predicts."""
    size = 1.0
    while size > SMALLEST_STEP:
        candidate = evaluate(point.row + size * step.row, point.column + size * step.column)
        required = SUFFICIENT_INCREASE * 2 * size * step.predicted_gain
        rounding = ROUNDING * (1.0 + abs(point.log_posterior))
        if candidate.log_posterior - point.log_posterior >= required - rounding:
            return candidate
        size /= 2
    raise FitError("no step improves the log posterior; tighten the priors")
