"""Models fitted on the history of full runs."""

from recurring_eval.calibration.mirt import fit_mirt, mirt_log_posterior
from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.calibration.mirt_selection import (
    MirtCandidate,
    compare_settings,
    preferred,
    select_mirt,
)
from recurring_eval.calibration.rasch import (
    RaschModel,
    fit_rasch,
    held_out_log_likelihood,
    log_posterior,
)

__all__ = [
    "MirtCandidate",
    "MirtModel",
    "RaschModel",
    "compare_settings",
    "fit_mirt",
    "fit_rasch",
    "held_out_log_likelihood",
    "log_posterior",
    "mirt_log_posterior",
    "preferred",
    "select_mirt",
]
