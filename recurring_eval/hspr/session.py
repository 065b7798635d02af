"""An evaluation of a target as a pure state: ask, tell, estimate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.hspr.config import HsprConfig
from recurring_eval.hspr.evaluation import (
    Answer,
    Evaluation,
    question_order,
    require_population,
)
from recurring_eval.hspr.model import HsprModel
from recurring_eval.hspr.result import HsprResult, estimate_score
from recurring_eval.one_thread import one_thread


class Workspace:
    """The latest evaluation of a chain of sessions, reused while the chain goes on.

    Only a cache: an evaluation is a function of model, configuration, order and answers,
    so that a session whose evaluation has moved on rebuilds its own.
    """

    def __init__(self, model: HsprModel, config: HsprConfig, order: NDArray[np.intp]) -> None:
        self._parts = (model, config, order)
        self._latest = Evaluation(*self._parts)

    def evaluation(self, answers: tuple[Answer, ...]) -> Evaluation:
        """Return an evaluation that has recorded exactly `answers`."""
        known = len(self._latest.answers)
        if tuple(self._latest.answers) == answers[:known]:
            for answer in answers[known:]:
                self._latest.record(answer)
        else:
            self._latest = Evaluation(*self._parts)
            self._latest.replay(answers)
        return self._latest


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprSession:
    """A target's evaluation so far; `tell` returns the next session.

    Attributes
    ----------
    model : HsprModel
    config : HsprConfig
    order : tuple of int, length N
        Rank of each question among its group's; draws the questions within a group.
        A stored session is rebuilt from it and from `answers`.
    answers : tuple of (int, int, int)
        Position of each answered question, its passes and trials, in order.
    """

    model: HsprModel
    config: HsprConfig
    order: tuple[int, ...]
    answers: tuple[Answer, ...] = ()
    _workspace: Workspace | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(self.model.n_questions)):
            raise InputError("`order` must hold every rank from 0 to N - 1 once")
        if self._workspace is None:
            workspace = Workspace(self.model, self.config, np.array(self.order, dtype=np.intp))
            object.__setattr__(self, "_workspace", workspace)

    @classmethod
    def start(
        cls, model: HsprModel, config: HsprConfig, *, rng: np.random.Generator | None
    ) -> Self:
        """Begin an evaluation.

        Parameters
        ----------
        model : HsprModel
        config : HsprConfig
        rng : numpy.random.Generator or None
            Draws the order of questions within groups, once; None takes id order.
        """
        order = question_order(model, rng)
        return cls(model=model, config=config, order=tuple(int(rank) for rank in order))

    @property
    def asked(self) -> tuple[str, ...]:
        """Answered questions, those without a valid verdict included."""
        return tuple(self.model.question_ids[question] for question, _, _ in self.answers)

    @property
    def n_valid(self) -> int:
        """Questions with a valid verdict: the budget spent."""
        return sum(trials > 0 for _, _, trials in self.answers)

    def ask(self, n: int = 1) -> tuple[str, ...]:
        """Next `n` questions, never one that was answered; fewer where fewer are left.

        Several at once are chosen together, by variances reduced as if their outcomes
        were jointly normal with the score.
        """
        if n < 1:
            raise InputError(f"`n` is {n}; ask for at least one question")
        with one_thread():
            chosen = self._evaluation().next_questions(n)
        return tuple(self.model.question_ids[question] for question in chosen)

    def tell(self, verdicts: Mapping[str, tuple[int, int]]) -> Self:
        """Session with more answers.

        Parameters
        ----------
        verdicts : mapping of str to (int, int)
            Passes and trials of each question, in the order they are taken in. Without
            trials the verdict is missing: the question is not asked again, does not
            count, and is predicted.

        Raises
        ------
        InputError
            A question is unknown or was answered before, or its counts are wrong.
        """
        position = {question: i for i, question in enumerate(self.model.question_ids)}
        answered = {question for question, _, _ in self.answers}
        new: list[Answer] = []
        for question, (passes, trials) in verdicts.items():
            if question not in position:
                raise InputError(f"question {question!r} is not in the bank of this session")
            if position[question] in answered:
                raise InputError(f"question {question!r} was already answered in this session")
            if not 0 <= passes <= trials:
                raise InputError(f"question {question!r} has {passes} passes of {trials} trials")
            new.append((position[question], int(passes), int(trials)))
        return type(self)(
            model=self.model,
            config=self.config,
            order=self.order,
            answers=(*self.answers, *new),
            _workspace=self._workspace,
        )

    def estimate(self, population: NDArray[np.bool_] | None = None) -> HsprResult:
        """Score of the target given the answers so far.

        Parameters
        ----------
        population : ndarray of bool, shape (N,), optional
            Questions whose mean the score is; the whole bank by default.
        """
        counted = require_population(self.model, population)
        with one_thread():
            return estimate_score(self._evaluation(), counted)

    def _evaluation(self) -> Evaluation:
        if self._workspace is None:
            raise AssertionError("a session always has a workspace")
        return self._workspace.evaluation(self.answers)
