"""Adaptive sessions as saved and loaded."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStep:
    """A question that was answered.

    Attributes
    ----------
    question_id : str
    passes, trials : int
        Without trials the verdict is missing.
    reason : str or None
        Why the verdict is missing; None where there is one.
    told_at : datetime
    """

    question_id: str
    passes: int
    trials: int
    reason: str | None = None
    told_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A stored session.

    Attributes
    ----------
    session_id : str
        What users see, e.g. ``swebench-verified-hspr-k100-3f9a2c1b``.
    benchmark, bank_version, agent_family : str
    agent : str
        Who is evaluated.
    method : str
    k : int
        Valid verdicts wanted.
    seed : int
        With the calibration and the steps it rebuilds the session.
    calibration_id : int
    opened_at : datetime
    finished_at : datetime or None
    run_id : int or None
        The history's integer of the run that a finished session became.
    steps : tuple of SessionStep
        In the order they were told.
    """

    session_id: str
    benchmark: str
    bank_version: str
    agent_family: str
    agent: str
    method: str
    k: int
    seed: int
    calibration_id: int
    opened_at: datetime
    finished_at: datetime | None
    run_id: int | None
    steps: tuple[SessionStep, ...]

    @property
    def n_valid(self) -> int:
        """Questions with a valid verdict: the budget spent."""
        return sum(step.trials > 0 for step in self.steps)
