"""One method, prepared on a fold's calibrating runs and tried on its targets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np

from recurring_eval.errors import FitError, NotEnoughDataError
from recurring_eval.methods.registry import Method
from recurring_eval.methods.replayed import MethodEstimates
from recurring_eval.replay.splits import Fold
from recurring_eval.response_matrix import ResponseMatrix

_FIT_SEED: Final = 0


class Streams(Protocol):
    """Hands out the random stream of a seed and a purpose, always the same."""

    def __call__(self, seed: int, *names: str) -> np.random.Generator:
        """Return a new generator at the beginning of its stream."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldEstimates:
    """One method on one fold under one seed.

    Attributes
    ----------
    random : bool
        Whether anything was drawn to ask. Where not, other seeds would say the same.
    fit_cpu_s : float or None
        CPU seconds of the preparation; None where an earlier seed's was used again.
    budgets : tuple of MethodEstimates
        One for each size asked for; none where `failure` says why.
    decides_budget : bool
        Whether the number of questions is the method's own choice.
    failure : str
    """

    method: str
    seed: int
    random: bool
    fit_cpu_s: float | None
    budgets: tuple[MethodEstimates, ...]
    decides_budget: bool = False
    failure: str = ""


def run_fold(
    matrix: ResponseMatrix,
    fold: Fold,
    method: Method,
    *,
    name: str | None = None,
    sizes: Sequence[int],
    seeds: Sequence[int],
    streams: Streams,
    cpu_clock: Callable[[], float],
) -> list[FoldEstimates]:
    """Prepare a method on a fold's source alone and estimate each of its targets.

    Seeds are those of asking: what a preparation draws (starting values, cells held out)
    belongs to the fold, so it is prepared once and used for all seeds. A method that draws
    nothing when it asks is run under the first seed only. One whose budget is an outcome is asked
    once, and its answer stands for every size. The streams are named by what they are
    for, so a result never depends on the other budgets, seeds, folds or methods.

    Parameters
    ----------
    matrix : ResponseMatrix
        Runs of all folds.
    fold : Fold
    method : Method
    name : str, optional
        What the user calls the method; recorded with the result.
    sizes : sequence of int
        Distinct numbers of questions.
    seeds : sequence of int
    streams : Streams
        Of this split, fold and method.
    cpu_clock : callable
        CPU seconds used so far.
    """
    source, targets = matrix.select_runs(fold.source), matrix.select_runs(fold.targets)
    found: list[FoldEstimates] = []
    seed = seeds[0]
    try:
        start = cpu_clock()
        prepared = method.prepare(source, rng=streams(_FIT_SEED, "fit"))
        fit_cpu_s = cpu_clock() - start
        for seed in seeds:
            budgets: list[MethodEstimates] = []
            random = False
            for k in sizes[-1:] if method.budget_is_outcome else sizes:
                rng = streams(seed, "ask", str(k))
                before, start = _position(rng), cpu_clock()
                estimates = prepared.estimate(targets, k, rng=rng)
                budgets.append(replace(estimates, k=k, cpu_s=cpu_clock() - start))
                random |= _position(rng) != before
            if method.budget_is_outcome:
                budgets = [replace(budgets[0], k=k) for k in sizes]
            found.append(
                FoldEstimates(
                    method=method.name if name is None else name,
                    seed=seed,
                    random=random,
                    fit_cpu_s=None if found else fit_cpu_s,
                    decides_budget=method.budget_is_outcome,
                    budgets=tuple(budgets),
                )
            )
            if not random:
                break
    except (FitError, NotEnoughDataError) as error:
        return [
            FoldEstimates(
                method=method.name if name is None else name,
                seed=seed,
                random=False,
                fit_cpu_s=None,
                budgets=(),
                failure=str(error),
            )
        ]
    return found


def _position(rng: np.random.Generator) -> tuple[object, object]:
    """Where a stream stands: drawing and spawning move it on."""
    seeds = rng.bit_generator.seed_seq
    return rng.bit_generator.state, getattr(seeds, "n_children_spawned", 0)
