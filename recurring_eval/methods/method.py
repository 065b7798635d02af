"""A method: a way of choosing questions paired with an estimator."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.methods.evidence import Evidence
from recurring_eval.records import Subset


class ChooseQuestions(Protocol):
    """Chooses k questions of a model's bank.

    `rng` draws what the design leaves to chance: the questions of a random
    subset, or the order of equal difficulties, for which None means the order
    of question keys.
    """

    def __call__(
        self,
        model: RaschModel,
        bank_version: str,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        seed: int = 0,
    ) -> Subset:
        """Return the subset; InputError if k is outside 1..N."""
        ...


class ScoreRuns(Protocol):
    """Estimates the full pass rate of each run, shape (m,); NaN where it cannot."""

    def __call__(self, evidence: Evidence) -> NDArray[np.float64]:
        """Return the unclipped estimates."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One entry of the registry.

    Attributes
    ----------
    name : str
        Name used by the command line, replays and reports.
    chooses, estimates : str
        In words.
    design : str
        Name of the way of choosing, as recorded in subsets.
    choose : ChooseQuestions or None
        None where the number of questions is an outcome (caching), and where each
        question depends on the verdicts before it.
    score : ScoreRuns or None
        None where the score comes from a model of the method's own.
    adaptive : bool
        Whether questions are chosen step by step.
    needs_gpirt, needs_cache, needs_hspr : bool
        Whether it needs gp-IRT constants, a cache, or an HSPR calibration.
    description : str
        One sentence for lists of methods.
    """

    name: str
    chooses: str
    estimates: str
    design: str
    choose: ChooseQuestions | None
    score: ScoreRuns | None
    adaptive: bool = False
    needs_gpirt: bool = False
    needs_cache: bool = False
    needs_hspr: bool = False
    description: str

    def scores(self, evidence: Evidence) -> NDArray[np.float64]:
        """Unclipped estimates, shape (m,), by `score`.

        Raises
        ------
        InputError
            The method's score comes from a model of its own.
        """
        if self.score is None:
            raise InputError(f"method {self.name!r} scores runs by a model of its own")
        return self.score(evidence)
