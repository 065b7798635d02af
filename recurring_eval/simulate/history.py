"""A simulated history of an evolving agent, with everything that is true of it."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.records import FULL_RUN_MIN_VALID
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.simulate.options import SimulationOptions
from recurring_eval.simulate.questions import SimulatedQuestions
from recurring_eval.simulate.verdicts import DrawnVerdicts

MAIN_FAMILY: Final = "main"
"""Name of the agent family the bank is calibrated for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedHistory:
    """Runs in time order, their verdicts and the truth behind them.

    m runs, n questions.

    Attributes
    ----------
    options : SimulationOptions
    questions : SimulatedQuestions
    matrix : ResponseMatrix
        All runs, also those with too few valid verdicts.
    verdicts : DrawnVerdicts
        Trial by trial, with reasons and lost passes.
    day : ndarray of intp, shape (m,)
        Day of the run, from 1.
    is_routine : ndarray of bool, shape (m,)
        False for an experiment.
    families : tuple of str
        Agent family of each run.
    config_keys : tuple of str
        Equal for runs of the same agent in the same release and branch.
    regraded : ndarray of bool, shape (n,)
        Questions that a grader change affects, when there is one.
    ability : ndarray, shape (m, 1 + 3)
        General ability and the ability specific to each cluster.
    difficulty : ndarray, shape (m, n)
        Difficulty for the run's family at the run's time.
    loss_rate : ndarray, shape (m,)
        Share of its passes the run loses to infrastructure.
    probabilities : ndarray, shape (m, n)
        Probability that a valid trial is recorded as a pass.
    """

    options: SimulationOptions
    questions: SimulatedQuestions
    matrix: ResponseMatrix
    verdicts: DrawnVerdicts
    day: NDArray[np.intp]
    is_routine: NDArray[np.bool_]
    families: tuple[str, ...]
    config_keys: tuple[str, ...]
    regraded: NDArray[np.bool_]
    ability: NDArray[np.float64]
    difficulty: NDArray[np.float64]
    loss_rate: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Runs with enough valid verdicts to calibrate and check on, shape (m,)."""
        n_valid = (self.matrix.trials > 0).sum(axis=1)
        return np.asarray(n_valid >= FULL_RUN_MIN_VALID * self.matrix.n_questions)

    def calibration_rows(self, family: str = MAIN_FAMILY) -> NDArray[np.intp]:
        """Rows of the covered runs of `family` in the calibration half."""
        return self._rows(family, self.day <= self.options.calibration_days)

    def test_rows(self, family: str = MAIN_FAMILY) -> NDArray[np.intp]:
        """Rows of the covered runs of `family` in the test half."""
        return self._rows(family, self.day > self.options.calibration_days)

    def _rows(self, family: str, in_half: NDArray[np.bool_]) -> NDArray[np.intp]:
        of_family = np.array([name == family for name in self.families], dtype=np.bool_)
        return np.flatnonzero(of_family & in_half & self.covered)
