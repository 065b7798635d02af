"""Rows of a simulated history: covered runs, and its calibration and test halves."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.records import FULL_RUN_MIN_VALID
from recurring_eval.simulate import SimulatedHistory

OTHER_FAMILY_RUNS: Final = (90, 75, 60, 44, 30)
"""Runs of the five other agent families of the published test bed."""


def covered(history: SimulatedHistory) -> NDArray[np.bool_]:
    """Runs with enough valid verdicts to calibrate and check on, shape (m,)."""
    n_valid = (history.matrix.trials > 0).sum(axis=1)
    return np.asarray(n_valid >= FULL_RUN_MIN_VALID * history.matrix.n_questions)


def calibration_rows(history: SimulatedHistory, family: str = "main") -> NDArray[np.intp]:
    """Rows of the covered runs of `family` in the calibration half."""
    return _rows(history, family, history.day <= history.options.calibration_days)


def later_rows(history: SimulatedHistory, family: str = "main") -> NDArray[np.intp]:
    """Rows of the covered runs of `family` in the test half."""
    return _rows(history, family, history.day > history.options.calibration_days)


def _rows(history: SimulatedHistory, family: str, in_half: NDArray[np.bool_]) -> NDArray[np.intp]:
    of_family = np.array([name == family for name in history.families], dtype=np.bool_)
    return np.flatnonzero(of_family & in_half & covered(history))
