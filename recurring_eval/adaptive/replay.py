"""Whole adaptive sessions against known verdicts, all runs in step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.adaptive.questions import (
    AskableQuestions,
    Floats,
    estimate_scores,
    posterior_of,
)
from recurring_eval.adaptive.rules import Choose
from recurring_eval.errors import InputError
from recurring_eval.records import Scores
from recurring_eval.validation import checked_counts, require_subset_size


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSessions:
    """What sessions of m known runs asked and estimated.

    Attributes
    ----------
    asked : ndarray of intp, shape (m, max(ks))
        Positions among the *model's* questions in the order asked; -1 after a run
        has no valid verdict left. Questions without a valid verdict are left out:
        a session replaces them at once and learns nothing.
    estimates : tuple of Scores
        One for each k, in the order of `ks`.
    """

    asked: NDArray[np.intp]
    estimates: tuple[Scores, ...]


def replay_sessions(
    questions: AskableQuestions,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    choose: Choose,
    ks: Sequence[int],
    population: ArrayLike | None = None,
) -> ReplayedSessions:
    """Do what sessions that ask one question a round would, for many runs and ks at once.

    A session's choices do not depend on its k, so one pass serves every k. Each
    run is computed by itself.

    Parameters
    ----------
    questions : AskableQuestions
    passes, trials : array_like of int, shape (m, n)
        The runs' full verdict counts, aligned with the model's questions.
    choose : Choose
        The rule.
    ks : sequence of int
        Valid verdicts after which to estimate.
    population : array_like of bool, shape (m, n), optional
        Questions each score is the mean of; by default the run's valid ones.

    Returns
    -------
    ReplayedSessions

    Raises
    ------
    InputError
        A k is not possible, or shapes and counts are not acceptable.
    """
    successes, counts = (
        table[:, questions.order] for table in checked_counts(passes, trials, questions.n_questions)
    )
    inside = counts > 0
    if population is not None:
        inside = np.broadcast_to(np.asarray(population, dtype=np.bool_), counts.shape)
        inside = inside[:, questions.order]
    if not ks:
        raise InputError("`ks` needs at least one number of questions")
    for k in ks:
        require_subset_size(k, questions.n_questions)
    sessions = _Sessions.start(successes, counts, max(ks))
    at_k: dict[int, Scores] = {}
    for n_asked in range(max(ks) + 1):
        if n_asked in ks:
            at_k[n_asked] = estimate_scores(questions, *sessions.answers(n_asked), inside)
        rows = np.flatnonzero(sessions.available.any(axis=1))
        if n_asked == max(ks) or not len(rows):
            break
        answered, successes, counts = sessions.answers(n_asked)
        theta, information = posterior_of(questions, answered[rows], successes[rows], counts[rows])
        chosen = choose(questions, theta, information, sessions.available[rows], 1)[:, 0]
        sessions.record(rows, chosen, n_asked)
    final = estimate_scores(questions, *sessions.answers(max(ks)), inside)
    asked = np.where(sessions.asked_trials > 0, questions.order[sessions.asked], -1)
    return ReplayedSessions(asked=asked, estimates=tuple(at_k.get(k, final) for k in ks))


@dataclass(slots=True, kw_only=True)
class _Sessions:
    """Verdicts to come, and those given, of m runs."""

    passes: Floats
    trials: Floats
    available: NDArray[np.bool_]
    asked: NDArray[np.intp]
    asked_passes: Floats
    asked_trials: Floats

    @classmethod
    def start(cls, passes: Floats, trials: Floats, most: int) -> "_Sessions":
        shape = (len(trials), most)
        return cls(
            passes=passes,
            trials=trials,
            available=trials > 0,
            asked=np.zeros(shape, dtype=np.intp),
            asked_passes=np.zeros(shape),
            asked_trials=np.zeros(shape),
        )

    def answers(self, n_asked: int) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Positions, passes and trials of the first answers, each (m, n_asked)."""
        return (
            self.asked[:, :n_asked],
            self.asked_passes[:, :n_asked],
            self.asked_trials[:, :n_asked],
        )

    def record(self, rows: NDArray[np.intp], chosen: NDArray[np.intp], n_asked: int) -> None:
        self.available[rows, chosen] = False
        self.asked[rows, n_asked] = chosen
        self.asked_passes[rows, n_asked] = self.passes[rows, chosen]
        self.asked_trials[rows, n_asked] = self.trials[rows, chosen]
