"""Residuals of HSPR on a history's own later half, as it works in production.

Sources held out one at a time have later runs among the sources that are left, which a
new run never has: on SWE-bench Verified, whose agents improve, intervals scaled by them
held 62 to 75 % of later runs in place of 90 %; scaled by these, 93 to 100 %.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from recurring_eval.hspr import HsprConfig, fit_sources, run_checkpoints, signature_rows
from recurring_eval.hspr.calibration import evenly_spaced
from recurring_eval.hspr.model import MIN_SOURCES
from recurring_eval.methods.hspr import HSPR
from recurring_eval.replay.residuals import ReplayResidual
from recurring_eval.response_matrix import ResponseMatrix

MAX_TARGETS: Final = 20
"""Later runs that are asked; enough for a rank threshold at 90 %, and it bounds the cost."""

PATH_NODES: Final = 256
N_NODES: Final = 1024
REFRESH_EVERY: Final = 16
"""Coarser than in use, for a quarter of the cost. On a simulated production history errors
were as large: 1.49, 1.18, .69 and .37 pp at k = 100, 200, 300, 400 against 1.52, 1.12, .71
and .36 at full resolution."""


def hspr_split_residuals(
    matrix: ResponseMatrix,
    ks: Sequence[int],
    config: HsprConfig,
    *,
    config_keys: Sequence[str] | None = None,
    rng: np.random.Generator,
    max_targets: int = MAX_TARGETS,
) -> list[ReplayResidual]:
    """Fit the sources of the earlier half and ask later runs k questions each.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs, in any order; the earlier half is rounded down.
    ks : sequence of int
        Numbers of questions; of each run, those below its number of valid verdicts.
    config : HsprConfig
        Evaluated at the resolution above.
    config_keys : sequence of str, optional
        Configuration of each run, as in `thin_sources`.
    rng : numpy.random.Generator
        Draws the questions within groups.
    max_targets : int
        Of more later runs this many are asked, spread evenly in time, the last one among
        them.

    Returns
    -------
    list of ReplayResidual
        By k, then in order of time; empty where the earlier half has too few runs.
    """
    by_time = sorted(
        range(matrix.n_runs), key=lambda row: (matrix.started_at[row], matrix.run_ids[row])
    )
    half = matrix.n_runs // 2
    sizes = sorted(set(ks))
    if half < MIN_SOURCES or not sizes:
        return []
    earlier = matrix.select_runs(np.array(by_time[:half]))
    keys = None if config_keys is None else tuple(config_keys[row] for row in by_time[:half])
    model = fit_sources(earlier, sources=signature_rows(earlier, keys))
    coarse = replace(config, path_nodes=PATH_NODES, n_nodes=N_NODES, refresh_every=REFRESH_EVERY)
    later = by_time[half:]
    chosen = evenly_spaced(len(later), min(max_targets, len(later)))
    targets = [later[i] for i in chosen]
    scores = matrix.pass_rates()
    found: list[ReplayResidual] = []
    for row, stream in zip(targets, rng.spawn(len(targets)), strict=True):
        valid = matrix.trials[row] > 0
        budgets = [k for k in sizes if k < valid.sum()]
        if not budgets:
            continue
        results = run_checkpoints(
            model,
            matrix.passes[row],
            matrix.trials[row],
            budgets=budgets,
            config=coarse,
            rng=stream,
            population=valid,
        )
        score = float(scores[row])
        found += [
            ReplayResidual(
                run_id=matrix.run_ids[row],
                method=HSPR.name,
                k=k,
                estimate=result.pass_rate,
                full_pass_rate=score,
                error=result.pass_rate - score,
                model_sd=result.sd,
            )
            for k, result in zip(budgets, results, strict=True)
        ]
    return sorted(found, key=lambda residual: residual.k)
