"""A calibrated simulator of an evolving production agent on a recurring benchmark."""

from recurring_eval.simulate.history import (
    MAIN_FAMILY,
    SimulatedHistory,
    simulate_history,
    simulated_logs,
)
from recurring_eval.simulate.options import OTHER_FAMILY_RUNS, SimulationOptions
from recurring_eval.simulate.questions import SimulatedQuestions
from recurring_eval.simulate.verdicts import MISSING_REASONS, DrawnVerdicts

__all__ = [
    "MAIN_FAMILY",
    "MISSING_REASONS",
    "OTHER_FAMILY_RUNS",
    "DrawnVerdicts",
    "SimulatedHistory",
    "SimulatedQuestions",
    "SimulationOptions",
    "simulate_history",
    "simulated_logs",
]
