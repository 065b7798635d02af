"""What a simulated history contains."""

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from recurring_eval.errors import InputError

OTHER_FAMILY_RUNS: Final = (90, 75, 60, 44, 30)
"""Runs of the five other agent families of the published test bed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOptions:
    """Size of a simulated history and the incidents it holds.

    The defaults are the calibrated test bed: one agent family, 52 days, 519
    questions, about 600 runs. An incident does not disturb any other draw: two
    histories of equal seed and size that differ in `lost_passes`,
    `regression_day` or `grader_change_day` have the same questions, runs and
    random numbers.

    Attributes
    ----------
    n_questions : int
        Questions in the bank.
    n_days : int
        Days simulated. Days are numbered from 1.
    calibration_days : int
        Days ``1..calibration_days`` form the calibration half, the rest the test half.
    runs_per_day : float
        Mean number of runs of the main family per day, weekends included.
    first_day : date
        Calendar date of day 1 (UTC).
    mean_pass_rate : float
        Expected pass rate of the main family over the test half, without
        regression and grader change.
    experiment_share : float
        Share of runs that are experiments; the rest are routine runs.
    n_trials : int
        Trials of each question in each run.
    lost_passes : {"failed", "missing"}
        How a pass lost to infrastructure is recorded.
    regression_day : int or None
        From this day on the main family's general ability is lower by `regression_size`.
    regression_size : float
    grader_change_day : int or None
        From this day on the grader multiplies the pass probability of a random
        `grader_change_share` of the questions by `grader_change_factor`.
    grader_change_share, grader_change_factor : float
    other_families : tuple of int
        Number of runs of each further agent family, e.g. `OTHER_FAMILY_RUNS`.
    quiet : bool
        No releases and no question drift.

    Raises
    ------
    InputError
        A value is outside its range.
    """

    n_questions: int = 519
    n_days: int = 52
    calibration_days: int = 28
    runs_per_day: float = 600 / 52
    first_day: date = date(2026, 10, 5)
    mean_pass_rate: float = 0.785
    experiment_share: float = 0.59
    n_trials: int = 1
    lost_passes: Literal["failed", "missing"] = "failed"
    regression_day: int | None = None
    regression_size: float = 0.45
    grader_change_day: int | None = None
    grader_change_share: float = 0.08
    grader_change_factor: float = 0.4
    other_families: tuple[int, ...] = ()
    quiet: bool = False

    def __post_init__(self) -> None:
        _require(self.n_questions >= 1, "n_questions", self.n_questions, "1 or more")
        _require(
            1 <= self.calibration_days < self.n_days,
            "calibration_days",
            self.calibration_days,
            f"1 or more and less than `n_days` ({self.n_days})",
        )
        _require(self.runs_per_day > 0, "runs_per_day", self.runs_per_day, "positive")
        _require(1 <= self.n_trials <= 1000, "n_trials", self.n_trials, "between 1 and 1000")
        for name in ("mean_pass_rate", "experiment_share"):
            value = getattr(self, name)
            _require(0 < value < 1, name, value, "between 0 and 1")
        for name in ("grader_change_share", "grader_change_factor"):
            value = getattr(self, name)
            _require(0 <= value <= 1, name, value, "between 0 and 1")
        _require(
            self.lost_passes in ("failed", "missing"),
            "lost_passes",
            self.lost_passes,
            "'failed' or 'missing'",
        )
        for name in ("regression_day", "grader_change_day"):
            day = getattr(self, name)
            _require(day is None or day >= 1, name, day, "a day number from 1, or None")
        _require(
            all(n >= 1 for n in self.other_families),
            "other_families",
            self.other_families,
            "counts of 1 or more",
        )


def _require(fulfilled: bool, name: str, value: object, wanted: str) -> None:
    if not fulfilled:
        raise InputError(f"`{name}` of the simulation is {value!r}; it must be {wanted}")
