"""Scores of runs before they get their intervals, whichever model gave them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.methods.evidence import Evidence
from recurring_eval.records import AbilityEstimate, HsprDiagnostics, ScoreDistribution

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Estimated full pass rates of m runs under one fitted model.

    Attributes
    ----------
    pass_rate : ndarray, shape (m,)
        Fractions, not yet moved into the feasible range; NaN where there is no estimate.
    model_sd : ndarray, shape (m,)
        Of each run's score, under the model.
    rerun_variance : ndarray, shape (m,)
        Added to the variance about the run's score it gives that about the agent's expected
        score.
    ability : tuple of AbilityEstimate, length m
    fingerprint : str
        Of the model.
    extrapolating : ndarray of bool, shape (m,)
        Runs that the model itself finds unlike every run it was fitted on.
    distribution : tuple of ScoreDistribution, or None
        One for each run, of models that have a posterior of the score.
    diagnostics : tuple of HsprDiagnostics, or None
    """

    pass_rate: Floats
    model_sd: Floats
    rerun_variance: Floats
    ability: tuple[AbilityEstimate, ...]
    fingerprint: str
    extrapolating: NDArray[np.bool_]
    distribution: tuple[ScoreDistribution, ...] | None = None
    diagnostics: tuple[HsprDiagnostics, ...] | None = None


def rasch_scores(evidence: Evidence, pass_rate: Floats) -> Scores:
    """Pass rates with the variances and abilities of the Rasch model."""
    variance = evidence.rasch_variance()
    n_observed = (evidence.trials > 0).sum(axis=1)
    return Scores(
        pass_rate=pass_rate,
        model_sd=variance.model_sd,
        rerun_variance=variance.rerun_variance,
        ability=tuple(
            AbilityEstimate(
                theta=evidence.ability[[i]],
                covariance=variance.covariance[i],
                n_observed=int(n),
            )
            for i, n in enumerate(n_observed)
        ),
        fingerprint=evidence.calibration.rasch.fingerprint,
        extrapolating=np.zeros(len(pass_rate), dtype=np.bool_),
    )


def joined(parts: Sequence[Scores]) -> Scores:
    """Scores of several runs, in order; all by one model."""
    return Scores(
        pass_rate=np.concatenate([part.pass_rate for part in parts]),
        model_sd=np.concatenate([part.model_sd for part in parts]),
        rerun_variance=np.concatenate([part.rerun_variance for part in parts]),
        ability=tuple(ability for part in parts for ability in part.ability),
        fingerprint=parts[0].fingerprint,
        extrapolating=np.concatenate([part.extrapolating for part in parts]),
        distribution=tuple(d for part in parts for d in part.distribution or ()) or None,
        diagnostics=tuple(d for part in parts for d in part.diagnostics or ()) or None,
    )
