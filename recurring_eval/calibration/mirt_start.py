"""Where the multidimensional 2PL fit starts: a factorisation of working logits."""

from typing import Final

import numpy as np
from scipy import linalg

from recurring_eval.calibration.mirt_objective import Floats, Pair
from recurring_eval.irt import logit, sigmoid

SMALLEST_WEIGHT: Final = 0.05
"""Floor of p(1 - p), so that one surprising verdict does not become a factor of its own."""


def factor_start(passes: Floats, trials: Floats, dimensions: int) -> Pair:
    """Leading singular vectors of the logits that one Newton step from the margins implies.

    The margins (smoothed pass rates of runs and questions) give each cell a
    probability p; its working logit is that probability's plus ``(y - p) / p(1 - p)``.
    Missing cells keep the margins' logit. Runs and questions without a verdict
    start, and stay, at zero.
    """
    run_logit = _margin_logit(passes, trials, axis=1) - _margin_logit(passes, trials, axis=None)
    question_logit = _margin_logit(passes, trials, axis=0)
    rate = np.divide(passes, trials, out=np.zeros_like(passes), where=trials > 0)
    p = sigmoid(np.add.outer(run_logit, question_logit))
    surprise = np.where(trials > 0, rate - p, 0.0) / np.maximum(p * (1.0 - p), SMALLEST_WEIGHT)
    working = run_logit[:, np.newaxis] + surprise
    answered_runs = np.asarray(trials.any(axis=1))
    answered_questions = np.asarray(trials.any(axis=0))
    working *= np.outer(answered_runs, answered_questions)
    ability, slopes = _leading_factors(working, dimensions)
    ability *= answered_runs[:, np.newaxis]  # rounding leaves specks in an empty row
    return Pair(runs=ability, questions=np.column_stack([slopes, -question_logit]))


def _margin_logit(passes: Floats, trials: Floats, *, axis: int | None) -> Floats:
    return logit((passes.sum(axis=axis) + 0.5) / (trials.sum(axis=axis) + 1.0))


def _leading_factors(working: Floats, dimensions: int) -> tuple[Floats, Floats]:
    """Best approximation ``ability @ slopes.T`` with abilities of unit mean square."""
    m, n = working.shape
    if m > n:
        slopes, ability = _leading_factors(working.T, dimensions)
        scale = np.linalg.norm(ability, axis=0) / np.sqrt(m)
        scale = np.where(scale > 0, scale, 1.0)
        return ability / scale, slopes * scale
    _, vectors = linalg.eigh(
        working @ working.T, subset_by_index=[m - dimensions, m - 1], check_finite=False
    )
    ability = vectors[:, ::-1] * np.sqrt(m)
    return ability, working.T @ ability / m
