"""Residuals of HSPR on its own sources, each held out of every fit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import NotEnoughDataError
from recurring_eval.hspr import HsprConfig, run_checkpoints
from recurring_eval.hspr.leave_one_out import leave_one_out
from recurring_eval.methods.hspr import HSPR
from recurring_eval.replay.residuals import ReplayResidual
from recurring_eval.response_matrix import ResponseMatrix

MAX_HELD_OUT: Final = 20
"""Sources that take turns; enough for a rank threshold at 90 %, and it bounds the cost."""

PATH_NODES: Final = 256
N_NODES: Final = 1024
REFRESH_EVERY: Final = 16
"""Coarser than in use, for a quarter of the cost. On simulated production histories the
errors are as large: 1.49, 1.18, .69 and .37 pp at k = 100, 200, 300, 400 against 1.52,
1.12, .71 and .36 at full resolution."""


def hspr_residuals(
    matrix: ResponseMatrix,
    ks: Sequence[int],
    config: HsprConfig,
    *,
    sources: NDArray[np.intp],
    rng: np.random.Generator,
    max_held_out: int = MAX_HELD_OUT,
) -> list[ReplayResidual]:
    """Ask each held-out source k questions and compare with its full score.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs.
    ks : sequence of int
        Numbers of questions; those not below the number of questions are skipped.
    config : HsprConfig
        Evaluated at the resolution above.
    sources : ndarray of int
        Rows that make up the signatures; of more than `max_held_out` of them, that many
        take turns, spread evenly over the ranking by score.
    rng : numpy.random.Generator
        Draws the questions within groups.

    Returns
    -------
    list of ReplayResidual
        By k, then in order of time; empty where there are too few sources to hold one out.
    """
    sizes = sorted({k for k in ks if k < matrix.n_questions})
    try:
        held_out = leave_one_out(matrix, max_held_out, sources)
    except NotEnoughDataError:
        return []
    if not sizes:
        return []
    coarse = replace(config, path_nodes=PATH_NODES, n_nodes=N_NODES, refresh_every=REFRESH_EVERY)
    found: list[ReplayResidual] = []
    for source, stream in zip(held_out, rng.spawn(len(held_out)), strict=True):
        valid = source.trials > 0
        results = run_checkpoints(
            source.model,
            source.passes,
            source.trials,
            budgets=[k for k in sizes if k < valid.sum()],
            config=coarse,
            rng=stream,
            population=valid,
        )
        found += [
            ReplayResidual(
                run_id=source.run_id,
                method=HSPR.name,
                k=k,
                estimate=result.pass_rate,
                full_pass_rate=source.score,
                error=result.pass_rate - source.score,
                model_sd=result.sd,
            )
            for k, result in zip(sizes, results, strict=False)
        ]
    place = {run: (matrix.started_at[i], run) for i, run in enumerate(matrix.run_ids)}
    return sorted(found, key=lambda residual: (residual.k, place[residual.run_id]))
