"""The estimators as methods call them: evidence in, one score per run out."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.estimators import (
    RANDOM_DIVISOR,
    STRATA_DIVISOR,
    gpirt_score,
    pirt_score,
    weighted_score,
)
from recurring_eval.methods.evidence import Evidence


def weighted(evidence: Evidence) -> NDArray[np.float64]:
    """Weighted mean of the valid outcomes."""
    return weighted_score(
        evidence.passes, evidence.trials, evidence.weights, population=evidence.population
    )


def pirt(evidence: Evidence) -> NDArray[np.float64]:
    """Observed outcomes, and predictions for the rest."""
    return pirt_score(
        evidence.model,
        evidence.ability,
        evidence.passes,
        evidence.trials,
        population=evidence.population,
    )


def gpirt_of_strata(evidence: Evidence) -> NDArray[np.float64]:
    """Blend of both, with the error of a stratified mean."""
    return _gpirt(evidence, STRATA_DIVISOR)


def gpirt_of_random(evidence: Evidence) -> NDArray[np.float64]:
    """Blend of both, with the error of a random mean."""
    return _gpirt(evidence, RANDOM_DIVISOR)


def _gpirt(evidence: Evidence, design_divisor: float) -> NDArray[np.float64]:
    if evidence.gpirt is None:
        raise InputError(
            "gp-IRT needs its constants, which the calibration lacks;"
            " use the weighted or p-IRT estimator, or recalibrate on at least 4 full runs"
        )
    return gpirt_score(
        evidence.model,
        evidence.ability,
        evidence.passes,
        evidence.trials,
        weights=evidence.weights,
        constants=evidence.gpirt,
        population=evidence.population,
        design_divisor=design_divisor,
    )
