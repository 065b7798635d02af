"""Everything one night computes from a response matrix, before any of it is stored."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

import numpy as np

from jobs.nightly_hspr import HsprMode, NightlyHspr, fit_nightly_hspr
from jobs.randomness import generator
from recurring_eval.calibration import (
    MirtModel,
    RaschModel,
    fit_rasch,
    held_out_log_likelihood,
    select_mirt,
)
from recurring_eval.errors import FitError, NotEnoughDataError
from recurring_eval.estimators import GpirtConstants, fit_gpirt_constants
from recurring_eval.intervals import run_to_run_variance
from recurring_eval.irt import pass_probability
from recurring_eval.methods import method_named
from recurring_eval.one_thread import one_thread
from recurring_eval.replay import ReplayResidual, split_residuals
from recurring_eval.response_matrix import ResponseMatrix

SUBSET_METHODS: Final = ("stratified+gpirt", "stratified+weighted")
"""Estimates reported for every published subset, the default first."""

MIN_RUNS: Final = 4

FITS_AT_A_TIME: Final = 2
"""Candidate models fitted side by side at night."""

MIRT_MIN_RUNS: Final = 80
"""With fewer runs methods of one ability are as good: k = 100 on the simulator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyModel:
    """A night's calibration.

    Attributes
    ----------
    model : RaschModel
    mirt : MirtModel or None
        None with fewer than `MIRT_MIN_RUNS` runs, or where it cannot be fitted.
    without_mirt : str
        Why there is none; empty when there is.
    hspr : NightlyHspr
    gpirt : GpirtConstants
    residuals : tuple of ReplayResidual
        Of the subset methods and ``hspr`` at every size, oldest run first within each.
    run_to_run_variance : float
        Between full scores of same-configuration pairs, beyond verdict noise.
    seconds : dict of str to float
        Wall time of each phase; the fit of several abilities runs beside the others.
    """

    model: RaschModel
    mirt: MirtModel | None
    without_mirt: str
    hspr: NightlyHspr
    gpirt: GpirtConstants
    residuals: tuple[ReplayResidual, ...]
    run_to_run_variance: float
    seconds: dict[str, float]


def fit_nightly_model(
    matrix: ResponseMatrix,
    *,
    configurations: Sequence[str],
    sizes: Sequence[int],
    hspr: HsprMode,
    seed: int,
) -> NightlyModel:
    """Fit the models, the gp-IRT constants and the replayed residuals.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs of the calibration window, oldest first.
    configurations : sequence of str
        Agent configuration of each run; empty where unknown.
    sizes : sequence of int
        Subset sizes k.
    hspr : {"average", "staged", "off"}
    seed : int
        Root of the random streams; the same for every night, so that a night
        differs from the one before by its data alone.

    Raises
    ------
    NotEnoughDataError
        With fewer than four runs.
    FitError
        If the fit does not converge.
    """
    if matrix.n_runs < MIN_RUNS:
        raise NotEnoughDataError(
            f"only {matrix.n_runs} usable full runs, a calibration needs {MIN_RUNS}; "
            "import more full runs"
        )
    seconds: dict[str, float] = {}
    # The limit is the process's: kept around both threads, neither can lift it for the other.
    with one_thread(), ThreadPoolExecutor(max_workers=1) as beside:
        several = beside.submit(_several_abilities, matrix, seed=seed)
        start = perf_counter()
        model = fit_rasch(matrix)
        held_out = held_out_log_likelihood(matrix, rng=generator(seed, "held-out"))
        model = replace(model, held_out_log_likelihood=held_out)
        seconds["fit"] = perf_counter() - start
        start = perf_counter()
        gpirt = fit_gpirt_constants(matrix, rng=generator(seed, "gp-irt"))
        residuals = replay_residuals(matrix, sizes, seed=seed)
        seconds["replay"] = perf_counter() - start
        sources = fit_nightly_hspr(
            matrix, mode=hspr, configurations=configurations, sizes=sizes, seed=seed
        )
        mirt = several.result()
    seconds["fit of several abilities"] = mirt.seconds
    return NightlyModel(
        model=model,
        mirt=mirt.model,
        without_mirt=mirt.without,
        hspr=sources,
        gpirt=gpirt,
        residuals=(*residuals, *sources.residuals),
        run_to_run_variance=_pair_variance(matrix, configurations, model),
        seconds=seconds | sources.seconds,
    )


@dataclass(frozen=True, slots=True)
class _SeveralAbilities:
    model: MirtModel | None
    without: str
    seconds: float


def _several_abilities(matrix: ResponseMatrix, *, seed: int) -> _SeveralAbilities:
    """Fit the multidimensional model, or tell why not: the night goes on without it."""
    if matrix.n_runs < MIRT_MIN_RUNS:
        return _SeveralAbilities(None, f"{matrix.n_runs} runs, it needs {MIRT_MIN_RUNS}", 0.0)
    start = perf_counter()
    try:
        rng = generator(seed, "several abilities")
        model = select_mirt(matrix, n_threads=FITS_AT_A_TIME, rng=rng)
    except (FitError, NotEnoughDataError) as error:
        return _SeveralAbilities(None, str(error), perf_counter() - start)
    return _SeveralAbilities(model, "", perf_counter() - start)


def replay_residuals(
    matrix: ResponseMatrix, sizes: Sequence[int], *, seed: int
) -> list[ReplayResidual]:
    """Residuals of the subset methods; each size has its own random stream."""
    methods = [method_named(name) for name in SUBSET_METHODS]
    return [
        residual
        for k in sizes
        for residual in split_residuals(matrix, [k], methods, rng=generator(seed, "replay", str(k)))
    ]


def _pair_variance(
    matrix: ResponseMatrix, configurations: Sequence[str], model: RaschModel
) -> float:
    """Run-to-run variance from disjoint consecutive runs of one configuration."""
    scores = matrix.pass_rates()
    waiting: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for row, configuration in enumerate(configurations):
        if not configuration:
            continue
        if configuration in waiting:
            pairs.append((waiting.pop(configuration), row))
        else:
            waiting[configuration] = row
    if not pairs:
        return 0.0
    probability = pass_probability(model.ability[:, np.newaxis], model.difficulty)
    trials = matrix.trials
    noise = np.divide(
        probability * (1.0 - probability), trials, out=np.zeros(trials.shape), where=trials > 0
    )
    variance = noise.sum(axis=1) / np.maximum((trials > 0).sum(axis=1), 1) ** 2
    earlier, later = np.array(pairs, dtype=np.intp).T
    return run_to_run_variance(
        scores[later] - scores[earlier],
        verdict_variance=float(np.mean(variance[earlier] + variance[later])),
    )
