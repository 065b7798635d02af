"""Step-by-step methods: each question is chosen in the light of the verdicts before it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.methods.calibration import Calibration, ModelKind, fit_calibration
from recurring_eval.methods.evidence import Evidence, gather_evidence
from recurring_eval.methods.replayed import PreparedMethod, Score, Scored, prepare
from recurring_eval.records import Scores
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.validation import rank_by_id

Bools = NDArray[np.bool_]

Answer = tuple[int, int, int]
"""Position of a question in the calibration, passes and trials; no trials is a missing verdict."""


class Asking(Protocol):
    """One run being asked; mutable."""

    def record(self, answers: Sequence[Answer]) -> None:
        """Take in further answers, in the order they came."""
        ...

    def next_questions(self, n: int) -> list[int]:
        """Positions of the next `n` questions, best first, none of them answered before."""
        ...


class ReplaySteps(Protocol):
    """Asks m runs whose verdicts are on record, as if they were not.

    `passes` and `trials` (m, n) are aligned with the calibration, `ks` ascend, `population`
    (m, n) holds the questions each score is the mean of, and `orders` is one row of ranks (n,)
    that decides between equally good questions for each run, or one for all of them.
    """

    def __call__(
        self,
        calibration: Calibration,
        passes: NDArray[np.integer],
        trials: NDArray[np.integer],
        *,
        ks: Sequence[int],
        population: Bools,
        orders: NDArray[np.intp],
    ) -> "list[ReplayedSteps]":
        """Return what was asked and estimated at each k."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSteps:
    """What a method had asked of m runs after k valid verdicts each, and its scores.

    Attributes
    ----------
    k : int
    observed : ndarray of bool, shape (m, n)
        Asked questions with a valid verdict; fewer than k where a run has fewer.
    scores : Scores
    """

    k: int
    observed: Bools
    scores: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMethod:
    """A rule for the next question and an estimator.

    Attributes
    ----------
    name : str
        Used by the command line, stored records, replays and reports.
    description : str
        One sentence for lists of methods.
    source : str
        Where it was published.
    begin : callable
        ``begin(calibration, order)`` starts to ask a run; the ranks `order` (n,) decide between
        equally good questions.
    score : callable
        Scores of an `Evidence`, whoever chose its questions.
    replay : ReplaySteps
        Of many recorded runs; see `replay_one_by_one`.
    replay_coarsely : ReplaySteps or None
        A quicker replay that nights measure residuals by; None is `replay`.
    models : tuple of ModelKind
        What it needs beside the Rasch model.
    can_do_without : bool
        Whether it works with the Rasch model alone where these are not there.
    aliases : tuple of str
        Other names.
    draws_as : str
        Name under which replays make random draws, by default `name`.
    orders : {"per run", "once"}
        Whether replays draw an order of equally good questions for each run, or one.
    """

    name: str
    description: str
    source: str
    begin: Callable[[Calibration, NDArray[np.intp]], Asking]
    score: Callable[[Evidence], Scores]
    replay: ReplaySteps
    replay_coarsely: ReplaySteps | None = None
    models: tuple[ModelKind[Any], ...] = ()
    can_do_without: bool = False
    aliases: tuple[str, ...] = ()
    draws_as: str = ""
    orders: Literal["per run", "once"] = "once"
    checked: ClassVar[bool] = True
    budget_is_outcome: ClassVar[bool] = False

    def draw_orders(
        self, question_ids: Sequence[str], n_runs: int, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Draw what decides between equally good questions, (n_runs, n) or (1, n)."""
        streams = rng.spawn(n_runs) if self.orders == "per run" else [rng]
        return np.array([drawn_order(question_ids, stream) for stream in streams], dtype=np.intp)

    def works_with(self, calibration: Calibration) -> bool:
        """Whether a calibration has what the method needs."""
        return self.can_do_without or calibration.has(self.models)

    def require_models(self, calibration: Calibration) -> None:
        """Refuse a calibration that lacks what the method needs, with NotEnoughDataError."""
        if not self.can_do_without:
            for kind in self.models:
                calibration[kind]

    def fit(self, source: ResponseMatrix, rng: np.random.Generator) -> Score:
        """Fit the models on source runs in canonical order, for a replay."""
        return partial(self._replay_at, fit_calibration(source, self.models, rng))

    def prepare(self, source: ResponseMatrix, *, rng: np.random.Generator) -> PreparedMethod:
        """Learn from source runs alone."""
        return prepare(self.fit, source, rng)

    def _replay_at(
        self, calibration: Calibration, targets: ResponseMatrix, k: int, rng: np.random.Generator
    ) -> Scored:
        """Ask every target k questions."""
        (replayed,) = self.replay(
            calibration,
            targets.passes,
            targets.trials,
            ks=[k],
            population=targets.trials > 0,
            orders=self.draw_orders(targets.question_ids, targets.n_runs, rng),
        )
        return Scored(score=replayed.scores.pass_rate, observed=replayed.observed)


def drawn_order(question_ids: Sequence[str], rng: np.random.Generator) -> NDArray[np.intp]:
    """Rank of each question in a random order, shape (n,).

    The draw belongs to the ids, whatever order they are given in.
    """
    by_id = rank_by_id(question_ids)
    return np.asarray(rng.permutation(len(question_ids))[by_id], dtype=np.intp)


def ask_recorded(
    asking: Asking,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    asked: Bools,
    k: int,
) -> bool:
    """Ask a recorded run until k questions have a valid verdict, marking them in `asked` (n,).

    A question without a valid verdict does not count: another one is asked in its place.

    Returns
    -------
    bool
        Whether there were k.
    """
    while int((asked & (trials > 0)).sum()) < k:
        chosen = asking.next_questions(1)
        if not chosen:
            return False
        question = chosen[0]
        asking.record([(question, int(passes[question]), int(trials[question]))])
        asked[question] = True
    return True


def joined(parts: Sequence[Scores]) -> Scores:
    """Scores of several runs, in order; all by one model."""
    return Scores(
        pass_rate=np.concatenate([part.pass_rate for part in parts]),
        model_sd=np.concatenate([part.model_sd for part in parts]),
        rerun_variance=np.concatenate([part.rerun_variance for part in parts]),
        ability=tuple(ability for part in parts for ability in part.ability),
        fingerprint=parts[0].fingerprint,
        extrapolating=np.concatenate([part.extrapolating for part in parts]),
        distribution=tuple(d for part in parts for d in part.distribution or ()) or None,
        diagnostics=tuple(d for part in parts for d in part.diagnostics or ()) or None,
    )


def replay_one_by_one(
    begin: Callable[[Calibration, NDArray[np.intp]], Asking],
    score: Callable[[Evidence], Scores],
) -> ReplaySteps:
    """Make a replay that asks one run after the other.

    Parameters
    ----------
    begin, score : callable
        As in `StepMethod`.
    """

    def replay(
        calibration: Calibration,
        passes: NDArray[np.integer],
        trials: NDArray[np.integer],
        *,
        ks: Sequence[int],
        population: Bools,
        orders: NDArray[np.intp],
    ) -> list[ReplayedSteps]:
        found: list[list[tuple[Bools, Scores]]] = []
        for row, order in zip(
            range(len(passes)), np.broadcast_to(orders, passes.shape), strict=True
        ):
            asking = begin(calibration, order)
            asked = np.zeros(passes.shape[1], dtype=np.bool_)
            of_run = []
            for k in ks:
                ask_recorded(asking, passes[row], trials[row], asked, k)
                one = slice(row, row + 1)
                evidence = gather_evidence(
                    calibration,
                    passes[one],
                    trials[one],
                    asked=asked.copy(),
                    population=population[one],
                )
                of_run.append((asked & (trials[row] > 0), score(evidence)))
            found.append(of_run)
        return [
            ReplayedSteps(
                k=k,
                observed=np.array([of_run[i][0] for of_run in found], dtype=np.bool_),
                scores=joined([of_run[i][1] for of_run in found]),
            )
            for i, k in enumerate(ks)
        ]

    return replay
