"""Choice of a configuration by holding sources out of every fit, in three stages."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr.config import N_NODES, Acquisition, HsprConfig, LatentPrior
from recurring_eval.hspr.evaluation import Evaluation, question_order
from recurring_eval.hspr.model import MIN_SOURCES, HsprModel, fit_sources
from recurring_eval.hspr.result import Decision, prepare_decision
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.validation import order_by_id

MAX_HELD_OUT: Final = 128
"""Bounds the cost of selection on histories with many distinct agents. The runs of one
agent are thinned to fewer; on SWE-bench Verified holding out 30 of 100 sources chose
configurations 0.3 pp worse than holding out every one, as published."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A source and the model fitted without it."""

    run_id: str
    model: HsprModel
    passes: NDArray[np.int64]
    trials: NDArray[np.int64]
    score: float


def held_out_rows(scores: NDArray[np.float64], limit: int | None) -> NDArray[np.intp]:
    """Rows that take turns being held out, spread evenly over the ranking by score."""
    ranking = np.argsort(scores, kind="stable")
    if limit is None or len(ranking) <= limit:
        return np.sort(ranking)
    middles = ((2 * np.arange(limit) + 1) * len(ranking)) // (2 * limit)
    return np.sort(ranking[middles])


def leave_one_out(
    matrix: ResponseMatrix, limit: int | None, sources: NDArray[np.intp] | None = None
) -> list[HeldOut]:
    """Fit all runs but one, for up to `limit` of the sources.

    Raises
    ------
    NotEnoughDataError
        Fewer than three sources.
    """
    candidates = np.arange(matrix.n_runs) if sources is None else np.asarray(sources)
    answered = candidates[(matrix.trials[candidates] > 0).any(axis=1)]
    if len(answered) <= MIN_SOURCES:
        raise NotEnoughDataError(
            f"choosing an HSPR configuration needs at least {MIN_SOURCES + 1} source runs with "
            f"valid verdicts, not {len(answered)}; import more full runs or use hspr-average"
        )
    by_id = answered[order_by_id([matrix.run_ids[i] for i in answered])]
    scores = matrix.pass_rates()
    held_out = []
    for row in by_id[held_out_rows(scores[by_id], limit)]:
        others = np.delete(np.arange(matrix.n_runs), row)
        model = fit_sources(
            matrix.select_runs(others), sources=np.flatnonzero(np.isin(others, by_id))
        )
        passes, trials = (counts[row].astype(np.int64) for counts in (matrix.passes, matrix.trials))
        held_out.append(HeldOut(matrix.run_ids[row], model, passes, trials, float(scores[row])))
    return held_out


LATENT_GRID: Final = tuple(
    LatentPrior(rank=rank, precision=precision)
    for rank, precision in (*itertools.product((1, 2, 4), (1.0, 4.0, 8.0)), (0, 0.25), (0, 1.0))
)
KAPPA_GRID: Final = (0.25, 1.0, 4.0, 16.0)
ACQUISITIONS: Final[tuple[Acquisition, ...]] = ("score", "latent")
LAMBDA_GRID: Final = (0.0, 0.5)
N_QUERY_SEEDS: Final = 3
SELECTION_NODES: Final = 128
TIE: Final = 1e-12
"""Mean absolute errors closer than this are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One setting's errors on the held-out sources.

    Attributes
    ----------
    stage : str
        ``global``, ``hierarchical`` or ``median``.
    config : HsprConfig
    mae : float
        Mean absolute error over held-out sources and query seeds, in pass-rate units.
    largest : float
        Largest error of a held-out source, averaged over query seeds.
    """

    stage: str
    config: HsprConfig
    mae: float
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprSelection:
    """Selected configuration and the evidence for it.

    Attributes
    ----------
    config : HsprConfig
    candidates : tuple of Candidate
        Every setting of every stage, in grid order.
    n_held_out : int
        Sources that took turns being held out.
    """

    config: HsprConfig
    candidates: tuple[Candidate, ...]
    n_held_out: int


def select_configuration(
    matrix: ResponseMatrix,
    *,
    budget: int,
    rng: np.random.Generator,
    selection_nodes: int = SELECTION_NODES,
    sources: NDArray[np.intp] | None = None,
) -> HsprSelection:
    """Choose a configuration by leaving out one source at a time, in three stages.

    The global stage chooses rank and precision, without group uncertainty, on
    deterministic paths and posterior means. The hierarchical stage chooses kappa and
    acquisition on posterior means, over three query orders. The last stage chooses the
    median's calibration on the paths of the setting so chosen. Ties go to the smaller
    largest error, then to the earlier setting of the grid. With more than `MAX_HELD_OUT`
    sources that many take turns, spread evenly over the ranking by score.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs. A held-out source enters no fit.
    budget : int
        Questions asked of a held-out source.
    rng : numpy.random.Generator
        Draws the three query orders, which all sources and settings share.
    selection_nodes : int
        Nodes while selecting; few are enough to rank settings.
    sources : ndarray of int, optional
        Rows that make up the signatures and take turns being held out, as in
        `fit_sources`; all rows by default.

    Raises
    ------
    NotEnoughDataError
        Fewer than three sources.
    InputError
        `budget` is not between 1 and the number of questions.
    """
    if not 1 <= budget <= matrix.n_questions:
        raise InputError(f"`budget` is {budget}; the bank has {matrix.n_questions} questions")
    held_out = leave_one_out(matrix, MAX_HELD_OUT, sources)
    fixed = [question_order(held_out[0].model, None)]
    orders = [question_order(held_out[0].model, rng) for _ in range(N_QUERY_SEEDS)]
    start = HsprConfig(
        latent=LATENT_GRID[:1],
        kappa=math.inf,
        decision="mean",
        n_nodes=selection_nodes,
        double_precision=True,
    )

    validation = _Validation(held_out, budget)
    with one_thread():
        stage_one = validation.judge(
            "global",
            (
                replace(start, latent=(latent,), acquisition=acquisition)
                for latent, acquisition in itertools.product(LATENT_GRID, ACQUISITIONS)
            ),
            fixed,
        )
        chosen = best_candidate(stage_one).config
        stage_two = validation.judge(
            "hierarchical",
            (
                replace(chosen, kappa=kappa, acquisition=acquisition)
                for kappa, acquisition in itertools.product(KAPPA_GRID, ACQUISITIONS)
            ),
            orders,
        )
        chosen = best_candidate(stage_two).config
        stage_three = validation.judge("median", [replace(chosen, decision="median")], orders)
    chosen = best_candidate(stage_three).config
    return HsprSelection(
        config=replace(chosen, n_nodes=N_NODES, double_precision=False),
        candidates=(*stage_one, *stage_two, *stage_three),
        n_held_out=len(held_out),
    )


def best_candidate(candidates: Sequence[Candidate]) -> Candidate:
    """Smallest mean absolute error; of equal ones the smaller largest error, then the first."""
    least = min(candidate.mae for candidate in candidates)
    tied = [candidate for candidate in candidates if candidate.mae <= least + TIE]
    smallest = min(candidate.largest for candidate in tied)
    return next(candidate for candidate in tied if candidate.largest <= smallest + TIE)


@dataclass(frozen=True, slots=True)
class _Validation:
    """Held-out sources and the budget each is evaluated with."""

    held_out: list[HeldOut]
    budget: int

    def judge(
        self, stage: str, configs: Iterable[HsprConfig], orders: Sequence[NDArray[np.intp]]
    ) -> list[Candidate]:
        """Errors of every setting with every strength of calibration, in grid order."""
        candidates = []
        for config in configs:
            decisions = [
                [self._evaluate(source, config, order) for order in orders]
                for source in self.held_out
            ]
            candidates += [
                self._candidate(stage, replace(config, lambda_=lambda_), decisions)
                for lambda_ in LAMBDA_GRID
            ]
        return candidates

    def _evaluate(self, source: HeldOut, config: HsprConfig, order: NDArray[np.intp]) -> Decision:
        """Evaluate a held-out source; its score is over its valid questions."""
        evaluation = Evaluation(source.model, config, order)
        while evaluation.n_observed < self.budget:
            chosen = evaluation.next_questions(1)
            if not chosen:
                break
            question = chosen[0]
            evaluation.record(
                (question, int(source.passes[question]), int(source.trials[question]))
            )
        return prepare_decision(evaluation, evaluation.posterior(), source.trials > 0)

    def _candidate(
        self, stage: str, config: HsprConfig, decisions: list[list[Decision]]
    ) -> Candidate:
        errors = np.array(
            [
                [
                    abs(d.pass_rate(config.decision, config.lambda_) - source.score)
                    for d in of_source
                ]
                for of_source, source in zip(decisions, self.held_out, strict=True)
            ]
        )
        return Candidate(
            stage=stage,
            config=config,
            mae=float(errors.mean()),
            largest=float(errors.mean(axis=1).max()),
        )
