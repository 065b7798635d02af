"""Models fitted on the history of full runs."""

from recurring_eval.calibration.rasch import RaschModel, fit_rasch, log_posterior

__all__ = ["RaschModel", "fit_rasch", "log_posterior"]
