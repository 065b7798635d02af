"""HSPR on recorded verdicts, along its own path or a given one, and sessions without a history."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.hspr import AVERAGE, HsprCalibration, HsprConfig, HsprModel
from recurring_eval.hspr.evaluation import Evaluation
from recurring_eval.hspr.result import HsprResult, estimate_score
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.hspr import HSPR, HSPR_SOURCES
from recurring_eval.methods.session import Session
from recurring_eval.methods.steps import drawn_order
from recurring_eval.one_thread import one_thread
from recurring_eval.validation import order_by_id
from tests.rasch_models import make_model


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
        Questions whose mean the score is; the whole bank by default.
    path : sequence of int, optional
        Positions of questions to ask in this order, instead of choosing them.

    Returns
    -------
    list of HsprResult
        One per budget.
    """
    successes, counts = np.asarray(passes), np.asarray(trials)
    counted = np.ones(model.n_questions, dtype=np.bool_) if population is None else population
    evaluation = Evaluation(model, config, order_of(model, rng))
    results: list[HsprResult] = []
    given = None if path is None else iter(path)
    with one_thread():
        for budget in budgets:
            while evaluation.n_observed < budget:
                question = _next_question(evaluation, given)
                if question is None:
                    break
                evaluation.record((question, int(successes[question]), int(counts[question])))
            results.append(estimate_score(evaluation, counted))
    return results


def _next_question(evaluation: Evaluation, given: Iterator[int] | None) -> int | None:
    """Next of the given path, or the one to choose; None where there is no more."""
    if given is not None:
        return next(given, None)
    chosen = evaluation.next_questions(1)
    return chosen[0] if chosen else None


def order_of(model: HsprModel, rng: np.random.Generator | None) -> NDArray[np.intp]:
    """Rank of each question within its group, shape (N,): drawn, or by id."""
    if rng is not None:
        return drawn_order(model.question_ids, rng)
    rank = np.empty(model.n_questions, dtype=np.intp)
    rank[order_by_id(model.question_ids)] = np.arange(model.n_questions)
    return rank


def calibration_of(model: HsprModel, config: HsprConfig) -> Calibration:
    """Calibration whose Rasch model has equal difficulties."""
    return Calibration(
        rasch=make_model(np.zeros(model.n_questions), question_ids=model.question_ids),
        fitted={HSPR_SOURCES.name: HsprCalibration(model=model, config=config)},
    )


def start_session(
    model: HsprModel, config: HsprConfig, *, rng: np.random.Generator | None
) -> Session:
    """Begin a session that may ask the whole bank."""
    return Session(
        method=HSPR,
        calibration=calibration_of(model, config),
        k=model.n_questions,
        order=tuple(int(rank) for rank in order_of(model, rng)),
    )


def evaluation_of(session: Session) -> Evaluation:
    """Evaluation of a session's answers, rebuilt from them."""
    fitted = session.calibration[HSPR_SOURCES]
    evaluation = Evaluation(fitted.model, fitted.config, np.array(session.order, dtype=np.intp))
    evaluation.replay(session.answers)
    return evaluation
