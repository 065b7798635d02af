"""A method: a way of choosing questions paired with an estimator."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.rasch import RaschModel
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
        None where the number of questions is an outcome (caching).
    score : ScoreRuns
    adaptive : bool
        Whether questions are chosen step by step.
    needs_gpirt, needs_cache : bool
        Whether `score` needs gp-IRT constants or a cache.
    description : str
        One sentence for lists of methods.
    """

    name: str
    chooses: str
    estimates: str
    design: str
    choose: ChooseQuestions | None
    score: ScoreRuns
    adaptive: bool = False
    needs_gpirt: bool = False
    needs_cache: bool = False
    description: str
