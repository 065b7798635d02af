"""Hierarchical score posterior recovery (HSPR): adaptive estimation of a full pass rate.

`fit_sources` turns full runs into an `HsprModel`; `HsprSession` asks a target's
questions one by one or in rounds; `run_hspr` does so on recorded verdicts;
`select_configuration` chooses settings on the sources, and `AVERAGE` needs no choice.
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
from recurring_eval.hspr.session import HsprSession, run_checkpoints, run_hspr
from recurring_eval.hspr.source_rates import ZeroInflatedBeta

__all__ = [
    "AVERAGE",
    "AnsweredScore",
    "HsprCalibration",
    "HsprConfig",
    "HsprModel",
    "HsprResult",
    "HsprSelection",
    "HsprSession",
    "LatentPrior",
    "ZeroInflatedBeta",
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
