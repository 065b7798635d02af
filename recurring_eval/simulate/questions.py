"""The simulated questions: loadings, difficulty, flakiness and drift."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
