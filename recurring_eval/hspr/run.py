"""Evaluate a target whose verdicts are on record, asking as if they were not."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.errors import InputError
from recurring_eval.hspr.config import AVERAGE, HsprConfig
from recurring_eval.hspr.evaluation import Evaluation, canonical_order, random_order
from recurring_eval.hspr.model import HsprModel
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
