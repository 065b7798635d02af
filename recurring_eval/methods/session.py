"""An adaptive run as a pure state: ask, tell, and rebuild from what was told."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.evidence import gather_evidence
from recurring_eval.methods.steps import Answer, Asking, StepMethod, drawn_order
from recurring_eval.records import Scores
from recurring_eval.validation import require_subset_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Everything an adaptive run knows; each verdict makes a new session.

    What is asked next is a function of the calibration, the order of equals and the answers
    alone, so that a session rebuilt from them is the same session.

    Attributes
    ----------
    method : StepMethod
    calibration : Calibration
    k : int
        Valid verdicts wanted.
    order : tuple of int, length n
        Rank of each question among equally good ones.
    answers : tuple of (int, int, int)
        Position of each answered question, passes and trials, in order; those without a valid
        verdict included.
    """

    method: StepMethod
    calibration: Calibration
    k: int
    order: tuple[int, ...]
    answers: tuple[Answer, ...] = ()
    _latest: list[tuple[Asking, tuple[Answer, ...]]] = field(
        default_factory=list, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        require_subset_size(self.k, self.calibration.n_questions)
        if sorted(self.order) != list(range(self.calibration.n_questions)):
            raise InputError("`order` must hold every rank from 0 to n - 1 once")

    @classmethod
    def start(
        cls, method: StepMethod, calibration: Calibration, *, k: int, rng: np.random.Generator
    ) -> Self:
        """Begin a run.

        Parameters
        ----------
        method : StepMethod
        calibration : Calibration
        k : int
            Valid verdicts wanted.
        rng : numpy.random.Generator
            Draws the order of equally good questions, once.

        Raises
        ------
        InputError
            k is not possible.
        NotEnoughDataError
            The calibration lacks a model that the method needs.
        """
        method.require_models(calibration)
        order = drawn_order(calibration.question_ids, rng)
        return cls(
            method=method, calibration=calibration, k=k, order=tuple(int(rank) for rank in order)
        )

    @property
    def asked(self) -> tuple[str, ...]:
        """Answered questions, in order."""
        return tuple(self.calibration.question_ids[question] for question, _, _ in self.answers)

    @property
    def n_valid(self) -> int:
        """Questions answered with a valid verdict."""
        return sum(trials > 0 for _, _, trials in self.answers)

    @property
    def n_left(self) -> int:
        """Valid verdicts still wanted, as far as there are questions left."""
        unasked = self.calibration.n_questions - len(self.answers)
        return max(0, min(self.k - self.n_valid, unasked))

    @property
    def finished(self) -> bool:
        """Whether k valid verdicts are in, or nothing is left to ask."""
        return self.n_left == 0

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
            raise InputError(f"`n` is {n}; ask for at least one question")
        n = min(n, self.n_left)
        if not n:
            return ()
        chosen = self._asking().next_questions(n)
        return tuple(self.calibration.question_ids[question] for question in chosen)

    def tell(self, outcomes: Mapping[str, tuple[int, int]]) -> "Session":
        """Return the session after more verdicts.

        Parameters
        ----------
        outcomes : mapping of str to (int, int)
            Passes and trials of each question, in the order they are taken in; no trials where
            there is no valid verdict. Questions need not have been proposed by `ask`.

        Raises
        ------
        InputError
            A question is unknown, was answered before or has impossible counts;
            this session is unchanged.
        """
        ids = self.calibration.question_ids
        position = dict(zip(ids, range(len(ids)), strict=True))
        answered = {question for question, _, _ in self.answers}
        new: list[Answer] = []
        for question, (passes, trials) in outcomes.items():
            if question not in position:
                raise InputError(f"question {question!r} is not in the bank of this session")
            if position[question] in answered:
                raise InputError(
                    f"question {question!r} was answered before; a session asks nothing twice"
                )
            if not 0 <= passes <= trials:
                raise InputError(f"question {question!r} has {passes} passes of {trials} trials")
            new.append((position[question], int(passes), int(trials)))
        return replace(self, answers=(*self.answers, *new))

    def score(self, population: NDArray[np.bool_] | None = None) -> Scores:
        """Score the answers so far, in whatever order they came.

        Parameters
        ----------
        population : ndarray of bool, shape (n,), optional
            Questions the score is the mean of; by default all.
        """
        passes, trials = np.zeros((2, 1, self.calibration.n_questions), dtype=np.int64)
        asked = np.zeros(self.calibration.n_questions, dtype=np.bool_)
        for question, n_passes, n_trials in self.answers:
            passes[0, question], trials[0, question], asked[question] = n_passes, n_trials, True
        evidence = gather_evidence(
            self.calibration, passes, trials, asked=asked, population=population
        )
        return self.method.score(evidence)

    def _asking(self) -> Asking:
        """Progress of this chain of sessions, or of a new one where that has moved on.

        Only a cache: it follows from method, calibration, order and answers.
        """
        if self._latest:
            asking, known = self._latest[0]
            if known == self.answers[: len(known)]:
                asking.record(self.answers[len(known) :])
                self._latest[0] = asking, self.answers
                return asking
        asking = self.method.begin(self.calibration, np.array(self.order, dtype=np.intp))
        asking.record(self.answers)
        self._latest[:] = [(asking, self.answers)]
        return asking
