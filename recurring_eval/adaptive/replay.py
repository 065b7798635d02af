"""Whole adaptive sessions against known verdicts, all runs in step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.adaptive.questions import (
    AskableQuestions,
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
    passed, tried = (
        table[:, questions.order] for table in checked_counts(passes, trials, questions.n_questions)
    )
    inside = tried > 0
    if population is not None:
        inside = np.broadcast_to(np.asarray(population, dtype=np.bool_), tried.shape)
        inside = inside[:, questions.order]
    if not ks:
        raise InputError("`ks` needs at least one number of questions")
    for k in ks:
        require_subset_size(k, questions.n_questions)
    available = tried > 0
    asked = np.zeros((len(tried), max(ks)), dtype=np.intp)
    # Of the answers, in the order of asking; no trials after the last.
    asked_passes, asked_trials = np.zeros((2, *asked.shape))

    def estimates_after(n: int) -> Scores:
        return estimate_scores(
            questions, asked[:, :n], asked_passes[:, :n], asked_trials[:, :n], inside
        )

    at_k: dict[int, Scores] = {}
    for n in range(max(ks) + 1):
        if n in ks:
            at_k[n] = estimates_after(n)
        rows = np.flatnonzero(available.any(axis=1))
        if n == max(ks) or not len(rows):
            break
        theta, information = posterior_of(
            questions, asked[rows, :n], asked_passes[rows, :n], asked_trials[rows, :n]
        )
        chosen = choose(questions, theta, information, available[rows], 1)[:, 0]
        available[rows, chosen] = False
        asked[rows, n] = chosen
        asked_passes[rows, n], asked_trials[rows, n] = passed[rows, chosen], tried[rows, chosen]
    final = estimates_after(max(ks))
    return ReplayedSessions(
        asked=np.where(asked_trials > 0, questions.order[asked], -1),
        estimates=tuple(at_k.get(k, final) for k in ks),
    )
