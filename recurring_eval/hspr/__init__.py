"""Hierarchical score posterior recovery (HSPR): adaptive estimation of a full pass rate.

`fit_sources` turns full runs into an `HsprModel`; `HsprSession` asks a target's
questions one by one or in rounds; `run_hspr` does so on recorded verdicts;
`select_configuration` chooses settings on the sources, and `AVERAGE` needs no choice.
"""

from recurring_eval.hspr.calibration import (
    HsprCalibration,
    calibrate_average,
    calibrate_staged,
    signature_rows,
    thin_sources,
)
from recurring_eval.hspr.config import AVERAGE, HsprConfig, LatentPrior
from recurring_eval.hspr.model import HsprModel, fit_sources
from recurring_eval.hspr.run import run_checkpoints, run_hspr, score_answers
from recurring_eval.hspr.selection import select_configuration
from recurring_eval.hspr.session import HsprSession

__all__ = [
    "AVERAGE",
    "HsprCalibration",
    "HsprConfig",
    "HsprModel",
    "HsprSession",
    "LatentPrior",
    "calibrate_average",
    "calibrate_staged",
    "fit_sources",
    "run_checkpoints",
    "run_hspr",
    "score_answers",
    "select_configuration",
    "signature_rows",
    "thin_sources",
]
