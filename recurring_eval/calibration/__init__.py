"""Models fitted on the history of full runs."""

from recurring_eval.calibration.held_out import held_out_log_likelihood
from recurring_eval.calibration.rasch import RaschModel, fit_rasch, log_posterior

__all__ = ["RaschModel", "fit_rasch", "held_out_log_likelihood", "log_posterior"]
