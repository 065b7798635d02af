"""Evaluate a target whose verdicts are on record, asking as if they were not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.errors import InputError
from recurring_eval.hspr.config import AVERAGE, HsprConfig
from recurring_eval.hspr.evaluation import (
    Answer,
    Evaluation,
    canonical_order,
    random_order,
)
from recurring_eval.hspr.model import HsprModel
from recurring_eval.hspr.predictive_draws import MAX_DRAWS, N_DRAWS, PredictiveDraws, draw_median
from recurring_eval.hspr.result import HsprResult, estimate_score
from recurring_eval.hspr.threads import one_blas_thread


def run_hspr(
    model: HsprModel,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    budget: int,
    config: HsprConfig = AVERAGE,
    rng: np.random.Generator | None,
    population: NDArray[np.bool_] | None = None,
    path: Sequence[int] | None = None,
) -> HsprResult:
    """Evaluate one target within a budget; see `run_checkpoints` for the parameters."""
    return run_checkpoints(
        model,
        passes,
        trials,
        budgets=(budget,),
        config=config,
        rng=rng,
        population=population,
        path=path,
    )[0]


def run_checkpoints(
    model: HsprModel,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    budgets: Sequence[int],
    config: HsprConfig = AVERAGE,
    rng: np.random.Generator | None,
    population: NDArray[np.bool_] | None = None,
    path: Sequence[int] | None = None,
) -> list[HsprResult]:
    """Evaluate one target, reporting at several budgets along one query path.

    Parameters
    ----------
    model : HsprModel
    passes, trials : array_like of int, shape (N,)
        The target's verdicts, aligned with ``model.question_ids``. Only those of asked
        questions are looked at. A question without a valid verdict does not count
        against the budget: another one is asked in its place.
    budgets : sequence of int
        Ascending numbers of valid verdicts. Where fewer questions have one, the last
        results are those of all that have.
    config : HsprConfig
    rng : numpy.random.Generator or None
        Chooses among a group's questions, with one permutation drawn at the start;
        None takes them in id order.
    population : ndarray of bool, shape (N,), optional
        Questions whose mean the score is; the whole bank by default. The choice of
        questions does not depend on it.
    path : sequence of int, optional
        Positions of questions to ask in this order, instead of choosing them.

    Returns
    -------
    list of HsprResult
        One per budget.

    Raises
    ------
    InputError
        Shapes, budgets or the population are not acceptable.
    """
    successes, asked_trials = require_verdicts(model, passes, trials)
    counted = np.ones(model.n_questions, dtype=np.bool_) if population is None else population
    if counted.shape != (model.n_questions,) or not counted.any():
        raise InputError("`population` needs one entry per question and at least one question")
    if list(budgets) != sorted(set(budgets)) or not budgets or budgets[0] < 1:
        raise InputError(f"`budgets` must be ascending positive numbers, not {list(budgets)}")
    order = canonical_order(model) if rng is None else random_order(model, rng)
    evaluation = Evaluation(model, config, order)
    results: list[HsprResult] = []
    given = None if path is None else iter(path)
    with one_blas_thread():
        for budget in budgets:
            while evaluation.n_observed < budget:
                question = _next_question(evaluation, given)
                if question is None:
                    break
                evaluation.record((question, int(successes[question]), int(asked_trials[question])))
            results.append(estimate_score(evaluation, counted))
    return results


def _next_question(evaluation: Evaluation, given: Iterator[int] | None) -> int | None:
    """Next of the given path, or the one to choose; None where there is no more."""
    if given is not None:
        return next(given, None)
    chosen = evaluation.next_questions(1)
    return chosen[0] if chosen else None


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
        order = canonical_order(model) if rng is None else random_order(model, rng)
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
        with one_blas_thread():
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
        counted = self._population(population)
        with one_blas_thread():
            return estimate_score(self._evaluation(), counted)

    def draw_median(
        self,
        population: NDArray[np.bool_] | None = None,
        *,
        n_draws: int = N_DRAWS,
        max_draws: int = MAX_DRAWS,
        rng: np.random.Generator,
    ) -> PredictiveDraws:
        """Median of complete score draws, as published, with its numerical precision."""
        counted = self._population(population)
        with one_blas_thread():
            evaluation = self._evaluation()
            return draw_median(
                evaluation.final_posterior(),
                evaluation.unasked_counts(counted),
                observed_passes=float(np.nansum(evaluation.rates[counted])),
                n_questions=int(counted.sum()),
                analytic_mean=estimate_score(evaluation, counted).mean,
                n_draws=n_draws,
                max_draws=max_draws,
                rng=rng,
            )

    def _evaluation(self) -> Evaluation:
        if self._workspace is None:
            raise AssertionError("a session always has a workspace")
        return self._workspace.evaluation(self.answers)

    def _population(self, population: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        if population is None:
            return np.ones(self.model.n_questions, dtype=np.bool_)
        if population.shape != (self.model.n_questions,) or not population.any():
            raise InputError("`population` needs one entry per question and at least one question")
        return population
