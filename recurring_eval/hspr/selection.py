"""Staged source-only selection of a configuration (HSPR, section 3.6 and Appendix A)."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr.config import N_NODES, Acquisition, HsprConfig, LatentPrior
from recurring_eval.hspr.evaluation import Evaluation, canonical_order
from recurring_eval.hspr.model import MIN_SOURCES, HsprModel, fit_sources
from recurring_eval.hspr.result import Decision, prepare_decision
from recurring_eval.response_matrix import ResponseMatrix

LATENT_GRID: Final = tuple(
    LatentPrior(rank=rank, precision=precision)
    for rank, precision in (*itertools.product((1, 2, 4), (1.0, 4.0, 8.0)), (0, 0.25), (0, 1.0))
)
KAPPA_GRID: Final = (0.25, 1.0, 4.0, 16.0)
ACQUISITIONS: Final[tuple[Acquisition, ...]] = ("score", "latent")
LAMBDA_GRID: Final = (0.0, 0.5)
N_QUERY_SEEDS: Final = 3
SELECTION_NODES: Final = 128
MAX_HELD_OUT: Final = 30
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


@dataclass(frozen=True, slots=True)
class _HeldOut:
    """A source and the model fitted without it."""

    model: HsprModel
    passes: NDArray[np.int64]
    trials: NDArray[np.int64]
    score: float


def select_configuration(
    matrix: ResponseMatrix,
    *,
    budget: int,
    rng: np.random.Generator,
    n_nodes: int = N_NODES,
    selection_nodes: int = SELECTION_NODES,
    max_held_out: int | None = MAX_HELD_OUT,
) -> HsprSelection:
    """Choose a configuration by leaving out one source at a time, in three stages.

    The global stage chooses rank and precision, without group uncertainty, on
    deterministic paths and posterior means. The hierarchical stage chooses kappa and
    acquisition on posterior means, over three query orders. The last stage chooses the
    median's calibration on the paths of the setting so chosen. Ties go to the smaller
    largest error, then to the earlier setting of the grid.

    Parameters
    ----------
    matrix : ResponseMatrix
        The sources, thinned (`thin_sources`). A held-out source enters no fit.
    budget : int
        Questions asked of a held-out source.
    rng : numpy.random.Generator
        Draws the three query orders, which all sources and settings share.
    n_nodes : int
        Of the selected configuration.
    selection_nodes : int
        Nodes while selecting; few are enough to rank settings.
    max_held_out : int or None
        With more sources, this many take turns, spread evenly over the ranking by
        score; None holds out every one, as published.

    Raises
    ------
    NotEnoughDataError
        Fewer than three sources.
    InputError
        `budget` is not between 1 and the number of questions.
    """
    if not 1 <= budget <= matrix.n_questions:
        raise InputError(f"`budget` is {budget}; the bank has {matrix.n_questions} questions")
    held_out = _leave_one_out(matrix, max_held_out)
    fixed = [canonical_order(held_out[0].model)]
    orders = [
        rng.permutation(matrix.n_questions)[fixed[0]].astype(np.intp) for _ in range(N_QUERY_SEEDS)
    ]
    start = HsprConfig(
        latent=LATENT_GRID[:1],
        kappa=math.inf,
        decision="mean",
        n_nodes=selection_nodes,
        double_precision=True,
    )

    def paths(config: HsprConfig, orders: Sequence[NDArray[np.intp]]) -> list[list[Decision]]:
        return [[_evaluate(source, config, budget, order) for order in orders] for source in held_out]

    def judged(stage: str, configs: Iterable[HsprConfig], orders: Sequence[NDArray[np.intp]]) -> list[Candidate]:
        return [
            _candidate(stage, replace(config, lambda_=lambda_), decisions, held_out)
            for config in configs
            for decisions in [paths(config, orders)]
            for lambda_ in LAMBDA_GRID
        ]

    stage_one = judged(
        "global",
        (
            replace(start, latent=(latent,), acquisition=acquisition)
            for latent, acquisition in itertools.product(LATENT_GRID, ACQUISITIONS)
        ),
        fixed,
    )
    chosen = best_candidate(stage_one).config
    stage_two = judged(
        "hierarchical",
        (
            replace(chosen, kappa=kappa, acquisition=acquisition)
            for kappa, acquisition in itertools.product(KAPPA_GRID, ACQUISITIONS)
        ),
        orders,
    )
    chosen = best_candidate(stage_two).config
    stage_three = judged("median", [replace(chosen, decision="median")], orders)
    return HsprSelection(
        config=replace(
            best_candidate(stage_three).config, n_nodes=n_nodes, double_precision=False
        ),
        candidates=(*stage_one, *stage_two, *stage_three),
        n_held_out=len(held_out),
    )


def best_candidate(candidates: Sequence[Candidate]) -> Candidate:
    """Smallest mean absolute error; of equal ones the smaller largest error, then the first."""
    least = min(candidate.mae for candidate in candidates)
    tied = [candidate for candidate in candidates if candidate.mae <= least + TIE]
    smallest = min(candidate.largest for candidate in tied)
    return next(candidate for candidate in tied if candidate.largest <= smallest + TIE)


def held_out_rows(scores: NDArray[np.float64], limit: int | None) -> NDArray[np.intp]:
    """Sources that take turns being held out, spread evenly over the ranking by score."""
    ranking = np.argsort(scores, kind="stable")
    if limit is None or len(ranking) <= limit:
        return np.sort(ranking)
    middles = ((2 * np.arange(limit) + 1) * len(ranking)) // (2 * limit)
    return np.sort(ranking[middles])


def _leave_one_out(matrix: ResponseMatrix, limit: int | None) -> list[_HeldOut]:
    answered = np.flatnonzero((matrix.trials > 0).any(axis=1))
    if len(answered) <= MIN_SOURCES:
        raise NotEnoughDataError(
            f"choosing an HSPR configuration needs at least {MIN_SOURCES + 1} source runs with "
            f"valid verdicts, not {len(answered)}; import more full runs or use hspr-average"
        )
    by_id = np.array(sorted(answered, key=lambda i: matrix.run_ids[i]), dtype=np.intp)
    scores = matrix.pass_rates()[by_id]
    return [
        _HeldOut(
            fit_sources(matrix.select_runs(np.setdiff1d(by_id, [row]))),
            matrix.passes[row].astype(np.int64),
            matrix.trials[row].astype(np.int64),
            float(matrix.pass_rates()[row]),
        )
        for row in by_id[held_out_rows(scores, limit)]
    ]


def _evaluate(
    source: _HeldOut, config: HsprConfig, budget: int, order: NDArray[np.intp]
) -> Decision:
    """The held-out source's evaluation; its score is over its valid questions."""
    evaluation = Evaluation(source.model, config, order)
    while evaluation.n_observed < budget:
        chosen = evaluation.next_questions(1)
        if not chosen:
            break
        question = chosen[0]
        evaluation.record(
            (question, int(source.passes[question]), int(source.trials[question]))
        )
    return prepare_decision(evaluation, evaluation.posterior(), source.trials > 0)


def _candidate(
    stage: str, config: HsprConfig, decisions: list[list[Decision]], held_out: list[_HeldOut]
) -> Candidate:
    errors = np.array(
        [
            [abs(d.pass_rate(config.decision, config.lambda_) - source.score) for d in of_source]
            for of_source, source in zip(decisions, held_out, strict=True)
        ]
    )
    return Candidate(
        stage=stage,
        config=config,
        mae=float(errors.mean()),
        largest=float(errors.mean(axis=1).max()),
    )
