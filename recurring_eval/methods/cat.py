"""Adaptive testing under an item-response model: what `rasch-cat` and `mirt-cat` share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.adaptive import (
    AskableQuestions,
    Choose,
    askable_questions,
    estimate_scores,
    posterior_of,
    replay_sessions,
)
from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.calibration.rasch import ABILITY_SD
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.evidence import Evidence
from recurring_eval.methods.steps import Answer, Asking, ReplayedSteps
from recurring_eval.records import Scores

Model = RaschModel | MirtModel

STANDARD_PRECISION: Final = ABILITY_SD**-2
"""Of the ability prior that calibrations are fitted with, N(0, I)."""

COARSE_ROUND: Final = 5
"""Questions chosen together while nights measure residuals, at a quarter of the cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveTest:
    """A rule with its model and ability prior; offers what a `StepMethod` is made of.

    Attributes
    ----------
    model_of : callable
        The model of a calibration that questions are chosen by.
    choose : Choose
        The rule.
    standard_prior : bool
        Whether a run's abilities have the papers' prior N(0, I), or the model's own, weak and
        around recent runs. Under a Rasch model it is always the standard one: questions far from
        the ability do not follow equal slopes, and the prior makes up for part of it.
    per_round : int
        Questions that replays choose together.
    """

    model_of: Callable[[Calibration], Model]
    choose: Choose
    standard_prior: bool = False
    per_round: int = 1

    def begin(self, calibration: Calibration, order: NDArray[np.intp]) -> Asking:
        """Start to ask a run."""
        return _CatAsking(self._questions(calibration, order), self.choose)

    def score(self, evidence: Evidence) -> Scores:
        """p-IRT of every run at its posterior mode."""
        questions = self._questions(evidence.calibration)
        passes, trials = (
            table[:, questions.order].astype(np.float64)
            for table in (evidence.passes, evidence.trials)
        )
        # Only answered columns: the others would cost time and nothing else.
        kept = np.flatnonzero(trials.any(axis=0))
        return estimate_scores(
            questions,
            np.broadcast_to(kept, (len(trials), len(kept))),
            passes[:, kept],
            trials[:, kept],
            evidence.population[:, questions.order],
        )

    def replay(
        self,
        calibration: Calibration,
        passes: NDArray[np.integer],
        trials: NDArray[np.integer],
        *,
        ks: Sequence[int],
        population: NDArray[np.bool_],
        orders: NDArray[np.intp],
    ) -> list[ReplayedSteps]:
        """Ask all runs in step, with one order of equally good questions."""
        (order,) = orders
        questions = self._questions(calibration, order)
        replayed = replay_sessions(
            questions,
            passes,
            trials,
            choose=self.choose,
            ks=ks,
            population=population,
            per_round=self.per_round,
        )
        found = []
        for k, scores in zip(ks, replayed.estimates, strict=True):
            rows, steps = np.nonzero(replayed.asked[:, :k] >= 0)
            observed = np.zeros(trials.shape, dtype=np.bool_)
            observed[rows, replayed.asked[rows, steps]] = True
            found.append(ReplayedSteps(k=k, observed=observed, scores=scores))
        return found

    def _questions(
        self, calibration: Calibration, order: NDArray[np.intp] | None = None
    ) -> AskableQuestions:
        model = self.model_of(calibration)
        standard = self.standard_prior or isinstance(model, RaschModel)
        n_abilities = model.n_dimensions if isinstance(model, MirtModel) else 1
        return askable_questions(
            model,
            prior_mean=np.zeros(n_abilities) if standard else None,
            prior_precision=STANDARD_PRECISION if standard else None,
            tie_order=order,
        )


class _CatAsking:
    """The valid answers so far, and the questions without an answer."""

    def __init__(self, questions: AskableQuestions, choose: Choose) -> None:
        self._questions, self._choose = questions, choose
        self._place = np.empty(questions.n_questions, dtype=np.intp)
        self._place[questions.order] = np.arange(questions.n_questions)
        self._available = np.ones((1, questions.n_questions), dtype=np.bool_)
        self._answers: list[tuple[int, int, int]] = []

    def record(self, answers: Sequence[Answer]) -> None:
        for question, passes, trials in answers:
            place = int(self._place[question])
            self._available[0, place] = False
            if trials:
                self._answers.append((place, passes, trials))

    def next_questions(self, n: int) -> list[int]:
        n = min(n, int(self._available.sum()))
        if n < 1:
            return []
        table = np.array(self._answers, dtype=np.float64).reshape(-1, 3)
        theta, information = posterior_of(
            self._questions,
            table[np.newaxis, :, 0].astype(np.intp),
            table[np.newaxis, :, 1],
            table[np.newaxis, :, 2],
        )
        chosen = self._choose(self._questions, theta, information, self._available, n)
        return [int(question) for question in self._questions.order[chosen[0]]]
