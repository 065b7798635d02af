"""How much a freshly drawn subset would have gained over the published one."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from recurring_eval.calibration.models import RaschModel
from recurring_eval.estimators import GpirtConstants
from recurring_eval.methods import Method, aligned_weights, method_named
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

        Three, because the question is asked anew every night.
        """
        return self.gain_pp - 3.0 * self.standard_error_pp


def replayed_gain(
    matrix: ResponseMatrix,
    published: Subset,
    candidate: Subset,
    *,
    method: Method | str,
    model: RaschModel,
    gpirt: GpirtConstants | None = None,
    n_recent: int = N_RECENT,
) -> ReplayGain:
    """Compare two subsets on the most recent full runs, under one model.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs, in any order.
    published, candidate : Subset
    method : Method or str
        Estimator to judge them by.
    model : RaschModel
        Tonight's; members of `published` that it does not know raise InputError.
    gpirt : GpirtConstants, optional
    n_recent : int, optional
        Number of most recent runs to replay.
    """
    entry = method_named(method) if isinstance(method, str) else method
    recent = matrix.in_canonical_order().align_questions(model.question_ids)
    recent = recent.select_runs(slice(max(0, recent.n_runs - n_recent), None))
    error: list[dict[str, float]] = []
    for subset in (published, candidate):
        replayed = replay_runs(
            entry,
            recent,
            model=model,
            weights=aligned_weights(model, subset),
            k=subset.k,
            gpirt=gpirt,
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


def replay_gain_pp(
    matrix: ResponseMatrix,
    published: Subset,
    candidate: Subset,
    *,
    method: Method | str,
    model: RaschModel,
    gpirt: GpirtConstants | None = None,
    n_recent: int = N_RECENT,
) -> float:
    """Gain in percentage points that `should_publish` compares with its threshold.

    It is `ReplayGain.certain_pp` of `replayed_gain`, whose arguments it takes.
    The errors of two subsets on a few dozen runs differ by more than .1 pp
    through chance alone; without the allowance a subset would be redrawn every
    other night.
    """
    gain = replayed_gain(
        matrix,
        published,
        candidate,
        method=method,
        model=model,
        gpirt=gpirt,
        n_recent=n_recent,
    )
    return gain.certain_pp
