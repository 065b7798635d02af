"""Hierarchical score posterior recovery (HSPR): adaptive estimation of a full pass rate.

`fit_sources` turns full runs into an `HsprModel`; an `Evaluation` chooses a target's questions,
and `score_answers` scores what was answered; `select_configuration` chooses settings on the
sources, and `AVERAGE` needs no choice.
"""

from recurring_eval.hspr.answers import AnsweredScore, score_answers
from recurring_eval.hspr.calibration import (
    HsprCalibration,
    calibrate_average,
    calibrate_staged,
    signature_rows,
    thin_sources,
)
from recurring_eval.hspr.config import AVERAGE, HsprConfig, LatentPrior
from recurring_eval.hspr.model import HsprModel, fit_sources
from recurring_eval.hspr.result import HsprResult
from recurring_eval.hspr.selection import HsprSelection, select_configuration
from recurring_eval.hspr.source_rates import ZeroInflatedBeta

__all__ = [
    "AVERAGE",
    "AnsweredScore",
    "HsprCalibration",
    "HsprConfig",
    "HsprModel",
    "HsprResult",
    "HsprSelection",
    "LatentPrior",
    "ZeroInflatedBeta",
    "calibrate_average",
    "calibrate_staged",
    "fit_sources",
    "score_answers",
    "select_configuration",
    "signature_rows",
    "thin_sources",
]
