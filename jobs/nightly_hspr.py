"""A night's sources for hierarchical score posterior recovery (HSPR), and how well they do."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from jobs.randomness import generator
from recurring_eval.errors import FitError, NotEnoughDataError
from recurring_eval.hspr import (
    HsprCalibration,
    calibrate_average,
    calibrate_staged,
    signature_rows,
)
from recurring_eval.hspr.selection import best_candidate
from recurring_eval.replay import ReplayResidual, hspr_split_residuals
from recurring_eval.response_matrix import ResponseMatrix

HsprMode = Literal["average", "staged", "off"]
LAST_STAGE: Final = "median"
"""Stage of the selection whose errors are those of the selected configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyHspr:
    """What a night knows of HSPR.

    Attributes
    ----------
    calibration : HsprCalibration or None
    without : str
        Why there is none; empty when there is.
    residuals : tuple of ReplayResidual
        Of later runs under the earlier half of the runs, at every size.
    facts : dict of str to object or None
        Configuration, sources, groups, and the evidence for the choice, if there was one.
    seconds : dict of str to float
        Wall time of each phase.
    """

    calibration: HsprCalibration | None
    without: str
    residuals: tuple[ReplayResidual, ...]
    facts: dict[str, object] | None
    seconds: dict[str, float]


def fit_nightly_hspr(
    matrix: ResponseMatrix,
    *,
    mode: HsprMode,
    configurations: Sequence[str],
    sizes: Sequence[int],
    seed: int,
) -> NightlyHspr:
    """Fit the sources, select a configuration if asked to, and replay it.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs of the calibration window.
    mode : {"average", "staged", "off"}
    configurations : sequence of str
        Agent configuration of each run; empty where unknown.
    sizes : sequence of int
        Numbers of questions at which it is replayed.
    seed : int
        Root of the random streams.

    Returns
    -------
    NightlyHspr
        Without a calibration where it is switched off, the runs are too few or a fit
        fails: the night goes on without it.
    """
    if mode == "off":
        return _nothing('switched off by `hspr = "off"`')
    seconds: dict[str, float] = {}
    try:
        start = perf_counter()
        rows = signature_rows(matrix, tuple(configurations))
        calibration = _calibrate(matrix, mode, rows, seed)
        seconds["fit of sources"] = perf_counter() - start
        start = perf_counter()
        residuals = hspr_split_residuals(
            matrix,
            sizes,
            calibration.config,
            config_keys=configurations,
            rng=generator(seed, "hspr", "replay"),
        )
        seconds["replay of hspr"] = perf_counter() - start
    except (FitError, NotEnoughDataError) as error:
        return _nothing(str(error))
    return NightlyHspr(
        calibration=calibration,
        without="",
        residuals=tuple(residuals),
        facts=_facts(calibration, mode),
        seconds=seconds,
    )


def _calibrate(
    matrix: ResponseMatrix, mode: HsprMode, rows: NDArray[np.intp], seed: int
) -> HsprCalibration:
    if mode == "staged":
        return calibrate_staged(matrix, sources=rows, rng=generator(seed, "hspr", "selection"))
    return calibrate_average(matrix, sources=rows)


def _nothing(why: str) -> NightlyHspr:
    return NightlyHspr(calibration=None, without=why, residuals=(), facts=None, seconds={})


def _facts(calibration: HsprCalibration, mode: HsprMode) -> dict[str, object]:
    selection = calibration.selection
    held_out, mae_pp = 0, None
    if selection is not None:
        judged = [c for c in selection.candidates if c.stage == LAST_STAGE]
        held_out, mae_pp = selection.n_held_out, 100.0 * best_candidate(judged).mae
    return {
        "mode": mode,
        "configuration": calibration.config.name,
        "n_sources": len(calibration.model.source_ids),
        "n_groups": calibration.model.n_groups,
        "held_out": held_out,
        "mae_pp": mae_pp,
    }
