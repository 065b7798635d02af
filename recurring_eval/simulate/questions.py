"""The simulated questions, and the verdicts drawn on them: losses, missing cells, drift."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS
from recurring_eval.simulate.options import SimulationOptions

N_CLUSTERS: Final = 3

GENERAL_LOADING_LOG_SD: Final = 0.454
SPECIFIC_LOADING_LOG_SD: Final = 0.3
FURTHER_CLUSTER_SHARE: Final = 0.313
FURTHER_LOADING: Final = 0.6
DIFFICULTY_SD: Final = 2.58
FLAKY_SHARE: Final = 0.139
FLAKINESS_RANGE: Final = (0.4, 0.9)
MISSING_WEIGHT_LOG_SD: Final = 0.7
DRIFT_EVENTS_PER_QUESTION_DAY: Final = 54 / (519 * 52)
DRIFT_SD: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedQuestions:
    """What is true of each question.

    Attributes
    ----------
    question_ids : tuple of str, length n
    cluster : ndarray of intp, shape (n,)
        Main specific cluster.
    general_loading : ndarray, shape (n,)
    specific_loading : ndarray, shape (n, 3)
        Loading on the ability specific to each cluster.
    difficulty : ndarray, shape (n,)
        On the first day, for the main family.
    flakiness : ndarray, shape (n,)
        Probability that a verdict is a coin toss.
    missing_weight : ndarray, shape (n,)
        Relative rate of missing verdicts, mean 1.
    drift_question : ndarray of intp, shape (n_events,)
    drift_time : ndarray, shape (n_events,)
        In days since the start of day 1.
    drift_step : ndarray, shape (n_events,)
        Added to the question's difficulty from then on.
    """

    question_ids: tuple[str, ...]
    cluster: NDArray[np.intp]
    general_loading: NDArray[np.float64]
    specific_loading: NDArray[np.float64]
    difficulty: NDArray[np.float64]
    flakiness: NDArray[np.float64]
    missing_weight: NDArray[np.float64]
    drift_question: NDArray[np.intp]
    drift_time: NDArray[np.float64]
    drift_step: NDArray[np.float64]

    def difficulty_at(self, time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Difficulty of every question at each time, shape (n_times, n).

        Parameters
        ----------
        time : ndarray, shape (n_times,)
            In days since the start of day 1.
        """
        steps = np.zeros((self.drift_time.size, self.difficulty.size))
        steps[np.arange(self.drift_time.size), self.drift_question] = self.drift_step
        happened = (time[:, None] >= self.drift_time).astype(np.float64)
        return np.asarray(self.difficulty + happened @ steps)


def draw_questions(options: SimulationOptions, *, rng: np.random.Generator) -> SimulatedQuestions:
    """Draw the questions, their difficulty centred on 0.

    The further cluster of a question differs from its main one, and a drift event
    moves one question, drawn with replacement.
    """
    n = options.n_questions
    cluster = rng.integers(N_CLUSTERS, size=n)
    general = np.exp(rng.normal(0, GENERAL_LOADING_LOG_SD, n))
    specific = np.zeros((n, N_CLUSTERS))
    specific[np.arange(n), cluster] = np.exp(rng.normal(0, SPECIFIC_LOADING_LOG_SD, n))
    has_further = rng.random(n) < FURTHER_CLUSTER_SHARE
    further = (cluster + rng.integers(1, N_CLUSTERS, size=n)) % N_CLUSTERS
    specific[has_further, further[has_further]] += FURTHER_LOADING
    difficulty = rng.normal(0, DIFFICULTY_SD, n)
    flaky = rng.random(n) < FLAKY_SHARE
    flakiness = np.where(flaky, rng.uniform(*FLAKINESS_RANGE, n), 0.0)
    missing_weight = rng.lognormal(0, MISSING_WEIGHT_LOG_SD, n)
    n_events = 0 if options.quiet else round(DRIFT_EVENTS_PER_QUESTION_DAY * n * options.n_days)
    width = max(3, len(str(n)))
    return SimulatedQuestions(
        question_ids=tuple(f"question-{i:0{width}d}" for i in range(1, n + 1)),
        cluster=cluster,
        general_loading=general,
        specific_loading=specific,
        difficulty=difficulty,
        flakiness=flakiness,
        missing_weight=missing_weight / missing_weight.mean(),
        drift_question=rng.integers(n, size=n_events),
        drift_time=rng.uniform(0, options.n_days, n_events),
        drift_step=rng.normal(0, DRIFT_SD, n_events),
    )


LOSS_BETA: Final = (1.0, 49.0)
BAD_RUN_SHARE: Final = 0.01
BAD_RUN_LOSS: Final = (0.05, 0.34)
MISSING_BETA: Final = (0.66, 11.34)
GAPPY_RUN_SHARE: Final = 0.03
GAPPY_RUN_MISSING: Final = (0.2, 0.6)
MOST_MISSING: Final = 0.97
TIMEOUT_SHARE: Final = 0.6

MISSING_REASONS: Final = ("error", "timeout", "not run")
"""Reasons of missing verdicts, in the order of the reason codes."""

ERROR, TIMEOUT, NOT_RUN = range(3)
DIFFICULTY_LIMIT: Final = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnVerdicts:
    """Every trial of every question in every run.

    Attributes
    ----------
    outcome : ndarray of int8, shape (m, n, n_trials)
        PASS, FAIL or MISSING.
    reason : ndarray of int8, shape (m, n, n_trials)
        Position in `MISSING_REASONS`; -1 for a valid verdict.
    lost : ndarray of bool, shape (m, n, n_trials)
        Passes lost to infrastructure in cells that ran.
    """

    outcome: NDArray[np.int8]
    reason: NDArray[np.int8]
    lost: NDArray[np.bool_]


def draw_loss_rates(n_runs: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Fraction of its passes that each run loses to infrastructure, shape (n_runs,)."""
    loss = rng.beta(*LOSS_BETA, n_runs)
    bad = rng.random(n_runs) < BAD_RUN_SHARE
    return np.minimum(loss + bad * rng.uniform(*BAD_RUN_LOSS, n_runs), 1.0)


def kept_pass_probability(
    questions: SimulatedQuestions,
    ability: NDArray[np.float64],
    difficulty: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Probability of a pass before infrastructure losses and grader changes.

    ``(1 - phi) expit(a0 theta + A . s - b) + phi / 2`` with the flakiness phi.

    Parameters
    ----------
    questions : SimulatedQuestions
    ability : ndarray, shape (m, 1 + 3)
    difficulty : ndarray, shape (m, n)

    Returns
    -------
    ndarray, shape (m, n)
    """
    loading = np.column_stack([questions.general_loading, questions.specific_loading])
    flakiness = questions.flakiness
    return np.asarray((1 - flakiness) * expit(ability @ loading.T - difficulty) + flakiness / 2)


def solve_mean_difficulty(
    questions: SimulatedQuestions,
    ability: NDArray[np.float64],
    difficulty: NDArray[np.float64],
    loss_rate: NDArray[np.float64],
    mean_pass_rate: float,
) -> float:
    """Constant to add to `difficulty` so that the mean probability is `mean_pass_rate`.

    Raises
    ------
    InputError
        Flaky questions and losses keep every constant from reaching the rate.
    """
    kept = (1 - loss_rate)[:, None]

    def excess(constant: float) -> float:
        p = kept_pass_probability(questions, ability, difficulty + constant)
        return float((kept * p).mean()) - mean_pass_rate

    if excess(-DIFFICULTY_LIMIT) <= 0 or excess(DIFFICULTY_LIMIT) >= 0:
        raise InputError(
            f"`mean_pass_rate` of the simulation is {mean_pass_rate!r}, which flaky questions "
            "and infrastructure losses put out of reach; choose a value nearer 0.5"
        )
    return float(brentq(excess, -DIFFICULTY_LIMIT, DIFFICULTY_LIMIT, xtol=1e-10))


def draw_verdicts(
    options: SimulationOptions,
    questions: SimulatedQuestions,
    pass_probability: NDArray[np.float64],
    loss_rate: NDArray[np.float64],
    *,
    rng: np.random.Generator,
) -> DrawnVerdicts:
    """Draw verdicts, then losses, then missing cells.

    A missing cell lacks all its trials; losses hit each trial by itself.

    Parameters
    ----------
    options : SimulationOptions
    questions : SimulatedQuestions
    pass_probability : ndarray, shape (m, n)
        Before losses.
    loss_rate : ndarray, shape (m,)
    rng : numpy.random.Generator
    """
    verdict_rng, loss_rng, missing_rng, reason_rng = rng.spawn(4)
    shape = (*pass_probability.shape, options.n_trials)
    passed = verdict_rng.random(shape) < pass_probability[:, :, None]
    struck = loss_rng.random(shape) < loss_rate[:, None, None]
    missing_reason = _missing_cells(questions, shape[0], missing_rng, reason_rng)
    lost = passed & struck & (missing_reason < 0)[:, :, None]

    reason = np.repeat(missing_reason[:, :, None], options.n_trials, axis=2)
    if options.lost_passes == "missing":
        reason[lost] = ERROR
    outcome = np.where(passed & ~lost, PASS, FAIL).astype(np.int8)
    outcome[reason >= 0] = MISSING
    return DrawnVerdicts(outcome=outcome, reason=reason, lost=lost)


def _missing_cells(
    questions: SimulatedQuestions,
    n_runs: int,
    rng: np.random.Generator,
    reason_rng: np.random.Generator,
) -> NDArray[np.int8]:
    rate = rng.beta(*MISSING_BETA, n_runs)
    gappy = rng.random(n_runs) < GAPPY_RUN_SHARE
    rate = np.where(gappy, rng.uniform(*GAPPY_RUN_MISSING, n_runs), rate)
    probability = np.minimum(rate[:, None] * questions.missing_weight, MOST_MISSING)
    missing = rng.random(probability.shape) < probability
    timed_out = reason_rng.random(probability.shape) < TIMEOUT_SHARE
    reason = np.where(gappy[:, None], NOT_RUN, np.where(timed_out, TIMEOUT, ERROR))
    return np.where(missing, reason, -1).astype(np.int8)
