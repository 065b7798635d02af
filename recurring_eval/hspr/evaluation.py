"""One target's evaluation in progress: which questions are left, and the posterior."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.errors import InputError
from recurring_eval.hspr.acquisition import choose_groups
from recurring_eval.hspr.config import HsprConfig
from recurring_eval.hspr.group_rates import Outcome
from recurring_eval.hspr.model import HsprModel
from recurring_eval.hspr.posterior import NodePosterior

NOT_ASKED: Final = -1

Answer = tuple[int, int, int]
"""Position of a question, passes and trials; no trials is a missing verdict."""


def canonical_order(model: HsprModel) -> NDArray[np.intp]:
    """Rank of each question by id, shape (N,): the deterministic path within a group."""
    rank = np.empty(model.n_questions, dtype=np.intp)
    rank[sorted(range(model.n_questions), key=model.question_ids.__getitem__)] = np.arange(
        model.n_questions
    )
    return rank


def require_verdicts(
    model: HsprModel, passes: ArrayLike, trials: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check counts of passes and trials against a model, and return them as arrays.

    Raises
    ------
    InputError
        Not one entry per question, or ``0 <= passes <= trials`` does not hold.
    """
    successes, counts = np.asarray(passes, dtype=np.int64), np.asarray(trials, dtype=np.int64)
    if successes.shape != (model.n_questions,) or counts.shape != (model.n_questions,):
        raise InputError(
            f"`passes` {successes.shape} and `trials` {counts.shape} need one entry for each of "
            f"the model's {model.n_questions} questions"
        )
    if not ((successes >= 0) & (successes <= counts)).all():
        raise InputError("`passes` must lie between 0 and `trials` for every question")
    return successes, counts


class Evaluation:
    """Mutable state of a target's evaluation.

    Parameters
    ----------
    model : HsprModel
    config : HsprConfig
    order : ndarray of int, shape (N,)
        Rank of each question within its group.

    Attributes
    ----------
    answers : list of Answer
        In the order they were recorded, missing ones included.
    rates : ndarray, shape (N,)
        passes/trials of the answered questions, NaN elsewhere.
    """

    def __init__(self, model: HsprModel, config: HsprConfig, order: NDArray[np.intp]) -> None:
        self.model = model
        self.config = config
        self.answers: list[Answer] = []
        self.rates = np.full(model.n_questions, np.nan)
        by_rank = np.argsort(order, kind="stable")
        self._asked = np.zeros(model.n_questions, dtype=np.bool_)
        self._askable = model.group_size.astype(np.intp)
        self._queues: list[list[int]] = [[] for _ in range(model.n_groups)]
        for question in by_rank[::-1]:
            self._queues[model.group_of_question[question]].append(int(question))
        self._nodes = NodePosterior(model, config, n_nodes=config.path_nodes or config.n_nodes)
        self._stale = True

    @property
    def n_askable(self) -> int:
        """Questions that may still be asked."""
        return int(self._askable.sum())

    @property
    def n_observed(self) -> int:
        """Questions with a valid verdict."""
        return len(self._nodes.history)

    def posterior(self) -> NodePosterior:
        """Posterior given every answer, on the nodes used to choose questions."""
        if self._stale:
            self._nodes.refresh()
            self._stale = False
        return self._nodes

    def final_posterior(self) -> NodePosterior:
        """Posterior on `n_nodes` nodes, with a proposal of its own if the path had fewer."""
        if self.config.path_nodes is None:
            return self.posterior()
        final = NodePosterior(self.model, self.config, n_nodes=self.config.n_nodes)
        # Sorted, because sums of fractional evidence depend on their order in the last bit.
        for outcome in sorted(self._nodes.history, key=lambda o: (o.group, o.passes, o.fails)):
            final.count(outcome)
        final.refresh()
        return final

    def next_questions(self, n: int) -> list[int]:
        """Positions of the next `n` questions, or of all that are left if fewer."""
        n = min(n, self.n_askable)
        if n < 1:
            return []
        chosen = []
        taken: dict[int, int] = {}
        for group in choose_groups(self.posterior(), self._askable, n):
            queue = self._queues[group]
            while self._asked[queue[-1]]:
                queue.pop()
            waiting = [question for question in reversed(queue) if not self._asked[question]]
            chosen.append(waiting[taken.get(group, 0)])
            taken[group] = taken.get(group, 0) + 1
        return chosen

    def record(self, answer: Answer) -> None:
        """Take in one answer; a missing verdict only makes its question unaskable."""
        question, passes, trials = answer
        outcome = self._mark(answer)
        if outcome is None:
            return
        if (self.n_observed + 1) % self.config.refresh_every == 0:
            self.posterior()
            self._nodes.count(outcome)
            self._stale = True
        else:
            self.posterior().observe(outcome)
        self.rates[question] = passes / trials

    def count(self, answers: Sequence[Answer]) -> None:
        """Take in answers at once; the nodes are refreshed when they are next needed."""
        for answer in answers:
            outcome = self._mark(answer)
            if outcome is not None:
                self._nodes.count(outcome)
                self.rates[answer[0]] = answer[1] / answer[2]
        self._stale = True

    def replay(self, answers: Sequence[Answer]) -> None:
        """Take in the answers of a fresh evaluation, refreshing the nodes once."""
        valid = np.cumsum([trials > 0 for _, _, trials in answers])
        last_refresh = 0 if not len(valid) else valid[-1] - valid[-1] % self.config.refresh_every
        n_before = int(np.searchsorted(valid, last_refresh)) + 1 if last_refresh else 0
        self.count(answers[:n_before])
        for answer in answers[n_before:]:
            self.record(answer)

    def _mark(self, answer: Answer) -> Outcome | None:
        question, passes, trials = answer
        if self._asked[question]:
            raise InputError(f"question {self.model.question_ids[question]!r} was already answered")
        if not 0 <= passes <= trials:
            raise InputError(
                f"question {self.model.question_ids[question]!r} has {passes} passes of "
                f"{trials} trials"
            )
        group = int(self.model.group_of_question[question])
        self._asked[question] = True
        self._askable[group] -= 1
        self.answers.append(answer)
        if trials == 0:
            return None
        return Outcome.of_trials(group, passes, trials, self.model.trial_correlation)

    def unasked_counts(self, population: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Questions of each group in `population` without a valid verdict, shape (G,)."""
        unknown = population & np.isnan(self.rates)
        return np.bincount(
            self.model.group_of_question[unknown], minlength=self.model.n_groups
        ).astype(np.intp)
