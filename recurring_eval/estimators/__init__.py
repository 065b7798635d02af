"""Estimators of a full pass rate: numeric functions on arrays aligned with a model."""

from recurring_eval.estimators.gpirt import (
    RANDOM_DIVISOR,
    STRATA_DIVISOR,
    GpirtConstants,
    fit_gpirt_constants,
    gpirt_score,
    gpirt_weight,
)
from recurring_eval.estimators.score import (
    ScoreVariance,
    clip_to_feasible,
    feasible_range,
    pirt_score,
    score_variance,
    weighted_score,
)

__all__ = [
    "RANDOM_DIVISOR",
    "STRATA_DIVISOR",
    "GpirtConstants",
    "ScoreVariance",
    "clip_to_feasible",
    "feasible_range",
    "fit_gpirt_constants",
    "gpirt_score",
    "gpirt_weight",
    "pirt_score",
    "score_variance",
    "weighted_score",
]
