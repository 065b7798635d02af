"""A calibrated simulator of an evolving production agent on a recurring benchmark."""

from recurring_eval.simulate.history import SimulatedHistory, simulate_history, simulated_logs
from recurring_eval.simulate.options import OTHER_FAMILY_RUNS, SimulationOptions
from recurring_eval.simulate.questions import MISSING_REASONS

__all__ = [
    "MISSING_REASONS",
    "OTHER_FAMILY_RUNS",
    "SimulatedHistory",
    "SimulationOptions",
    "simulate_history",
    "simulated_logs",
]
