"""Hierarchical score posterior recovery (HSPR): adaptive estimation of a full pass rate.

`fit_sources` turns full runs into an `HsprModel`; an `Evaluation` chooses a target's questions,
and `score_answers` scores what was answered; `select_configuration` chooses settings on the
sources, and `AVERAGE` needs no choice.
"""

from recurring_eval.hspr.answers import score_answers
from recurring_eval.hspr.calibration import (
    HsprCalibration,
    calibrate_average,
    calibrate_staged,
    signature_rows,
    thin_sources,
)
from recurring_eval.hspr.config import AVERAGE, HsprConfig, LatentPrior
from recurring_eval.hspr.model import HsprModel, fit_sources
from recurring_eval.hspr.selection import select_configuration

__all__ = [
    "AVERAGE",
    "HsprCalibration",
    "HsprConfig",
    "HsprModel",
    "LatentPrior",
    "calibrate_average",
    "calibrate_staged",
    "fit_sources",
    "score_answers",
    "select_configuration",
    "signature_rows",
    "thin_sources",
]
