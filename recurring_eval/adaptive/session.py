"""An adaptive run as a pure state: ask, tell, estimate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.adaptive.questions import (
    AskableQuestions,
    Floats,
    estimate_scores,
    posterior_of,
)
from recurring_eval.adaptive.rules import questions_for, rule_for
from recurring_eval.adaptive.session_estimate import SessionEstimate, single_estimate
from recurring_eval.calibration.models import Model
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS
from recurring_eval.validation import require_subset_size

Outcome = tuple[int, int]
"""Passes and trials of one question; no trials where there is no valid verdict."""

_COUNTS: Final[Mapping[int, Outcome]] = {PASS: (1, 1), FAIL: (0, 1), MISSING: (0, 0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Everything an adaptive run knows; each verdict makes a new session.

    The ability is a function of the asked questions and their outcomes alone, so
    that a session rebuilt from them is the same session.

    Attributes
    ----------
    questions : AskableQuestions
        The model, its ability prior and the order of ties.
    method : str
        Name of the adaptive rule.
    k : int
        Valid verdicts wanted.
    seed : int
        Recorded with the session; the present rules draw nothing.
    asked : tuple of str
        Questions answered so far, in order, those without a valid verdict included.
    outcomes : tuple of (int, int)
        Passes and trials of each of them.

    Raises
    ------
    InputError
        The method does not exist or does not fit the model, k is not possible, or
        a question is unknown, answered twice or has impossible counts.
    """

    questions: AskableQuestions
    method: str
    k: int
    seed: int = 0
    asked: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    _answered: NDArray[np.intp] = field(init=False, repr=False, compare=False)
    _counts: Floats = field(init=False, repr=False, compare=False)
    _theta: Floats = field(init=False, repr=False, compare=False)
    _information: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rule_for(self.method, self.questions.model)
        require_subset_size(self.k, self.questions.n_questions)
        _check_outcomes(self)
        valid = [i for i, (_, trials) in enumerate(self.outcomes) if trials > 0]
        answered = [self.questions.position[self.asked[i]] for i in valid]
        counts = np.array([self.outcomes[i] for i in valid], dtype=np.float64).reshape(-1, 2)
        object.__setattr__(self, "_answered", np.array(answered, dtype=np.intp)[np.newaxis])
        object.__setattr__(self, "_counts", counts.T[:, np.newaxis])
        passes, trials = self._counts
        theta, information = posterior_of(self.questions, self._answered, passes, trials)
        object.__setattr__(self, "_theta", theta)
        object.__setattr__(self, "_information", information)

    @property
    def n_valid(self) -> int:
        """Questions answered with a valid verdict."""
        return self._answered.size

    @property
    def finished(self) -> bool:
        """Whether k valid verdicts are in, or nothing is left to ask."""
        return self.n_valid >= self.k or len(self.asked) == self.questions.n_questions

    def ask(self, n: int = 1) -> tuple[str, ...]:
        """Up to n questions to run next, best first.

        A question without a valid verdict does not count towards k: another one
        is asked in its place. Asking again without telling gives the same answer.

        Parameters
        ----------
        n : int
            Questions to run in parallel; the next choice learns from all of them.

        Returns
        -------
        tuple of str
            Empty when the session is finished; never more than are left of k.
        """
        if n < 1:
            raise InputError(f"`n` is {n}; ask for at least 1 question")
        n_left = self.questions.n_questions - len(self.asked)
        n = min(n, self.k - self.n_valid, n_left)
        if n <= 0:
            return ()
        available = np.ones((1, self.questions.n_questions), dtype=np.bool_)
        available[0, [self.questions.position[question] for question in self.asked]] = False
        choose = rule_for(self.method, self.questions.model).choose
        chosen = choose(self.questions, self._theta, self._information, available, n)
        return tuple(self.questions.ids[i] for i in chosen[0])

    def tell(self, outcomes: Mapping[str, int | Outcome]) -> "Session":
        """Return the session after more verdicts.

        Parameters
        ----------
        outcomes : mapping
            Question id to PASS, FAIL or MISSING, or to a pair (passes, trials).
            Questions need not have been proposed by `ask`.

        Raises
        ------
        InputError
            A question is unknown, was answered before or has impossible counts;
            this session is unchanged.
        """
        counts = tuple(_counts_of(question, outcome) for question, outcome in outcomes.items())
        return replace(self, asked=(*self.asked, *outcomes), outcomes=self.outcomes + counts)

    def estimate(self, population: ArrayLike | None = None) -> SessionEstimate:
        """Estimate of the full pass rate from the answers so far.

        Parameters
        ----------
        population : array_like of bool, shape (n,), optional
            Questions the score is the mean of, aligned with the model's questions;
            by default all. Answers outside it inform the ability only.
        """
        every = np.ones(self.questions.n_questions, dtype=np.bool_)
        inside = every if population is None else np.asarray(population, dtype=np.bool_)
        if inside.shape != every.shape or not inside.any():
            raise InputError(
                f"`population` has shape {inside.shape}; it needs one entry for each of the "
                f"{every.size} questions, and at least one that is true"
            )
        passes, trials = self._counts
        estimates = estimate_scores(
            self.questions, self._answered, passes, trials, inside[np.newaxis, self.questions.order]
        )
        return single_estimate(estimates, n_asked=len(self.asked))


def start_session(
    model: Model,
    *,
    method: str,
    k: int,
    seed: int = 0,
    prior_mean: ArrayLike | None = None,
    prior_precision: float | None = None,
    tie_order: ArrayLike | None = None,
) -> Session:
    """Begin an adaptive run.

    Parameters
    ----------
    model : RaschModel or MirtModel
    method : str
        ``rasch-cat`` (needs a Rasch model) or ``mirt-cat``.
    k : int
        Valid verdicts wanted.
    seed : int
    prior_mean, prior_precision, tie_order
        As in `questions_for`.
    """
    questions = questions_for(
        model,
        method=method,
        prior_mean=prior_mean,
        prior_precision=prior_precision,
        tie_order=tie_order,
    )
    return Session(questions=questions, method=method, k=k, seed=seed)


def run_session(session: Session, verdicts: Mapping[str, int | Outcome], n: int = 1) -> Session:
    """Ask and tell until the session is finished, n questions a round, verdicts known."""
    while not session.finished:
        session = session.tell({question: verdicts[question] for question in session.ask(n)})
    return session


def _counts_of(question: str, outcome: int | Outcome) -> Outcome:
    if isinstance(outcome, Sequence):
        return outcome
    if outcome not in _COUNTS:
        raise InputError(
            f"the outcome of {question!r} is {outcome!r}; give PASS, FAIL, MISSING or "
            "a pair (passes, trials)"
        )
    return _COUNTS[outcome]


def _check_outcomes(session: Session) -> None:
    if len(session.asked) != len(session.outcomes):
        raise InputError(
            f"{len(session.asked)} questions were asked but {len(session.outcomes)} outcomes given"
        )
    seen: set[str] = set()
    for question, (passes, trials) in zip(session.asked, session.outcomes, strict=True):
        if question not in session.questions.position:
            raise InputError(f"{question!r} is not a question of the model")
        if question in seen:
            raise InputError(f"{question!r} was answered before; a session asks nothing twice")
        if not 0 <= passes <= trials:
            raise InputError(f"{question!r} has {passes} passes in {trials} trials")
        seen.add(question)
