"""How much a freshly drawn subset would have gained over the published one."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.evidence import aligned_weights
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.records import Subset
from recurring_eval.replay.residuals import replay_runs
from recurring_eval.response_matrix import ResponseMatrix

N_RECENT: Final = 60
"""Most recent full runs that two subsets are compared on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayGain:
    """Fall in mean absolute error, paired by run.

    Attributes
    ----------
    gain_pp : float
        MAE of the published subset less that of the candidate, percentage points.
    standard_error_pp : float
        Of `gain_pp`, over runs; infinite with fewer than two.
    n_runs : int
    """

    gain_pp: float
    standard_error_pp: float
    n_runs: int

    @property
    def certain_pp(self) -> float:
        """Gain less three standard errors: what is left when chance is allowed for.

        Three, because the question is asked anew every night: the errors of two subsets on a few
        dozen runs differ by more than .1 pp through chance alone, and without the allowance a
        subset would be redrawn every other night.
        """
        return self.gain_pp - 3.0 * self.standard_error_pp


def replayed_gain(
    matrix: ResponseMatrix,
    published: Subset,
    candidate: Subset,
    *,
    method: FixedMethod,
    calibration: Calibration,
) -> ReplayGain:
    """Compare two subsets on the most recent full runs, under one model.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs, in any order.
    published, candidate : Subset
    method : FixedMethod
        Estimator to judge them by.
    calibration : Calibration
        Tonight's; members of `published` that it lacks raise InputError.
    """
    recent = matrix.in_canonical_order().align_questions(calibration.question_ids)
    recent = recent.select_runs(slice(max(0, recent.n_runs - N_RECENT), None))
    error: list[dict[str, float]] = []
    for subset in (published, candidate):
        replayed = replay_runs(
            method,
            recent,
            calibration=calibration,
            weights=aligned_weights(calibration.rasch, subset),
            k=subset.k,
        )
        error.append({r.run_id: abs(r.error) for r in replayed})
    shared = [run_id for run_id in error[0] if run_id in error[1]]
    gains = 100.0 * np.array([error[0][run_id] - error[1][run_id] for run_id in shared])
    n = len(shared)
    return ReplayGain(
        gain_pp=float(gains.mean()) if n else 0.0,
        standard_error_pp=float(gains.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf"),
        n_runs=n,
    )
