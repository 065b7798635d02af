"""Models fitted on the history of full runs."""

from recurring_eval.calibration.mirt import fit_mirt
from recurring_eval.calibration.mirt_selection import select_mirt
from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.calibration.rasch import fit_rasch, held_out_log_likelihood

__all__ = [
    "MirtModel",
    "RaschModel",
    "fit_mirt",
    "fit_rasch",
    "held_out_log_likelihood",
    "select_mirt",
]
