"""A night's sources for hierarchical score posterior recovery (HSPR), and how well they do."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

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
from recurring_eval.hspr import (
    HsprCalibration,
    calibrate_average,
    calibrate_staged,
    signature_rows,
)
from recurring_eval.hspr.selection import best_candidate
from recurring_eval.intervals import run_to_run_variance
from recurring_eval.irt import pass_probability
from recurring_eval.methods import method_named
from recurring_eval.one_thread import one_thread
from recurring_eval.replay import ReplayResidual, hspr_split_residuals, split_residuals
from recurring_eval.response_matrix import ResponseMatrix

HsprMode = Literal["average", "staged", "off"]
LAST_STAGE: Final = "median"
"""Stage of the selection whose errors are those of the selected configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyHspr:
    """What a night knows of HSPR.

    Attributes
    ----------
    calibration : HsprCalibration or None
    without : str
        Why there is none; empty when there is.
    residuals : tuple of ReplayResidual
        Of later runs under the earlier half of the runs, at every size.
    facts : dict of str to object or None
        Configuration, sources, groups, and the evidence for the choice, if there was one.
    seconds : dict of str to float
        Wall time of each phase.
    """

    calibration: HsprCalibration | None
    without: str
    residuals: tuple[ReplayResidual, ...]
    facts: dict[str, object] | None
    seconds: dict[str, float]


def fit_nightly_hspr(
    matrix: ResponseMatrix,
    *,
    mode: HsprMode,
    configurations: Sequence[str],
    sizes: Sequence[int],
    seed: int,
) -> NightlyHspr:
    """Fit the sources, select a configuration if asked to, and replay it.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs of the calibration window.
    mode : {"average", "staged", "off"}
    configurations : sequence of str
        Agent configuration of each run; empty where unknown.
    sizes : sequence of int
        Numbers of questions at which it is replayed.
    seed : int
        Root of the random streams.

    Returns
    -------
    NightlyHspr
        Without a calibration where it is switched off, the runs are too few or a fit
        fails: the night goes on without it.
    """
    if mode == "off":
        return _nothing('switched off by `hspr = "off"`')
    seconds: dict[str, float] = {}
    try:
        start = perf_counter()
        rows = signature_rows(matrix, tuple(configurations))
        calibration = _calibrate(matrix, mode, rows, seed)
        seconds["fit of sources"] = perf_counter() - start
        start = perf_counter()
        residuals = hspr_split_residuals(
            matrix,
            sizes,
            calibration.config,
            config_keys=configurations,
            rng=generator(seed, "hspr", "replay"),
        )
        seconds["replay of hspr"] = perf_counter() - start
    except (FitError, NotEnoughDataError) as error:
        return _nothing(str(error))
    return NightlyHspr(
        calibration=calibration,
        without="",
        residuals=tuple(residuals),
        facts=_facts(calibration, mode),
        seconds=seconds,
    )


def _calibrate(
    matrix: ResponseMatrix, mode: HsprMode, rows: NDArray[np.intp], seed: int
) -> HsprCalibration:
    if mode == "staged":
        return calibrate_staged(matrix, sources=rows, rng=generator(seed, "hspr", "selection"))
    return calibrate_average(matrix, sources=rows)


def _nothing(why: str) -> NightlyHspr:
    return NightlyHspr(calibration=None, without=why, residuals=(), facts=None, seconds={})


def _facts(calibration: HsprCalibration, mode: HsprMode) -> dict[str, object]:
    selection = calibration.selection
    held_out, mae_pp = 0, None
    if selection is not None:
        judged = [c for c in selection.candidates if c.stage == LAST_STAGE]
        held_out, mae_pp = selection.n_held_out, 100.0 * best_candidate(judged).mae
    return {
        "mode": mode,
        "configuration": calibration.config.name,
        "n_sources": len(calibration.model.source_ids),
        "n_groups": calibration.model.n_groups,
        "held_out": held_out,
        "mae_pp": mae_pp,
    }


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
