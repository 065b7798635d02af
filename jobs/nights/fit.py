"""Everything a night computes from its runs: fitted models, and residuals of every method."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final

import numpy as np

from jobs.randomness import generator
from recurring_eval.calibration import RaschModel, fit_rasch, held_out_log_likelihood
from recurring_eval.errors import FitError, NotEnoughDataError
from recurring_eval.intervals import run_to_run_variance
from recurring_eval.irt import pass_probability
from recurring_eval.methods.calibration import OFF, Calibration, CalibrationRuns, ModelKind
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.registry import checked_methods, model_kinds
from recurring_eval.methods.steps import StepMethod
from recurring_eval.one_thread import one_thread
from recurring_eval.records import ReplayResidual
from recurring_eval.replay.residuals import fixed_residuals, step_residuals
from recurring_eval.response_matrix import ResponseMatrix

MIN_RUNS: Final = 4

PARTS_AT_A_TIME: Final = 2
"""Fits and replays that a night works on side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyFit:
    """A night's calibration, and what was measured of it.

    Attributes
    ----------
    calibration : Calibration
        Its `without` says why a kind of model is not there.
    residuals : tuple of ReplayResidual
        Of every checked method at every size, oldest run first within each.
    run_to_run_variance : float
        Between full scores of same-configuration pairs, beyond verdict noise.
    described : tuple of str
        Each model in a phrase, or why it is not there.
    facts : dict of str to object
        By kind, what pages show of it.
    seconds : dict of str to float
        Wall time of each phase; phases run side by side.
    """

    calibration: Calibration
    residuals: tuple[ReplayResidual, ...]
    run_to_run_variance: float
    described: tuple[str, ...]
    facts: dict[str, object]
    seconds: dict[str, float]


def fit_night(runs: CalibrationRuns, *, sizes: Sequence[int], seed: int) -> NightlyFit:
    """Fit every kind of model that a live method needs, and replay the checked methods.

    Parameters
    ----------
    runs : CalibrationRuns
        Full runs of the calibration window, oldest first.
    sizes : sequence of int
        Numbers of questions k.
    seed : int
        Root of the random streams; the same for every night, so that a night
        differs from the one before by its data alone.

    Raises
    ------
    NotEnoughDataError
        With fewer than four runs.
    FitError
        If the Rasch model does not converge; the night goes on without another one.
    """
    matrix = runs.matrix
    if matrix.n_runs < MIN_RUNS:
        raise NotEnoughDataError(
            f"only {matrix.n_runs} usable full runs, a calibration needs {MIN_RUNS}; "
            "import more full runs"
        )
    seconds: dict[str, float] = {}
    # The limit is the process's: kept around all threads, none can lift it for another.
    with one_thread(), ThreadPoolExecutor(max_workers=PARTS_AT_A_TIME) as pool:
        with timed(seconds, "fit"):
            rasch = fit_rasch(matrix)
            held_out = held_out_log_likelihood(matrix, rng=generator(seed, "held-out"))
            rasch = replace(rasch, held_out_log_likelihood=held_out)
        kinds = model_kinds()
        fits = {kind.name: pool.submit(_fit, kind, runs, seed, seconds) for kind in kinds}
        steps = [method for method in checked_methods() if isinstance(method, StepMethod)]
        replays = [
            pool.submit(_step_residuals, method, runs, rasch, fits, sizes, seed, seconds)
            for method in steps
        ]
        with timed(seconds, "replay"):
            residuals = fixed_method_residuals(matrix, sizes, seed=seed)
        for replay in replays:
            residuals += replay.result()
    calibration = _calibration(rasch, kinds, fits)
    found = {kind.name: model for kind in kinds if (model := calibration.get(kind)) is not None}
    phrases = [
        kind.describe(found[kind.name])
        if kind.name in found
        else f"no {kind.title}: {calibration.without[kind.name]}"
        for kind in kinds
    ]
    return NightlyFit(
        calibration=calibration,
        residuals=tuple(residuals),
        run_to_run_variance=_pair_variance(runs, rasch),
        described=tuple(phrase for phrase in phrases if phrase),
        facts={k.name: k.facts(runs, found[k.name]) for k in kinds if k.name in found},
        seconds=seconds,
    )


def fixed_method_residuals(
    matrix: ResponseMatrix, sizes: Sequence[int], *, seed: int
) -> list[ReplayResidual]:
    """Residuals of the fixed methods; each size has its own random stream."""
    methods = [method for method in checked_methods() if isinstance(method, FixedMethod)]
    return [
        residual
        for k in sizes
        for residual in fixed_residuals(matrix, k, methods, rng=generator(seed, "replay", str(k)))
    ]


def _fit(
    kind: ModelKind[Any], runs: CalibrationRuns, seed: int, seconds: dict[str, float]
) -> object:
    """Fit one kind; NotEnoughDataError where the night is to do without."""
    if runs.modes.get(kind.name) == OFF:
        raise NotEnoughDataError(f'switched off by `{kind.name} = "{OFF}"`')
    if runs.matrix.n_runs < kind.min_runs:
        raise NotEnoughDataError(f"{runs.matrix.n_runs} runs, it needs {kind.min_runs}")
    start = perf_counter()
    model: object = kind.fit(runs, generator(seed, *kind.stream))
    seconds[f"fit of {kind.name}"] = perf_counter() - start
    return model


def _calibration(
    rasch: RaschModel, kinds: Sequence[ModelKind[Any]], fits: Mapping[str, Future[object]]
) -> Calibration:
    """Wait for the fits of these kinds; the night goes on without one that failed."""
    fitted: dict[str, object] = {}
    without: dict[str, str] = {}
    for kind in kinds:
        try:
            fitted[kind.name] = fits[kind.name].result()
        except (FitError, NotEnoughDataError) as error:
            without[kind.name] = str(error)
    return Calibration(rasch=rasch, fitted=fitted, without=without)


def _step_residuals(
    method: StepMethod,
    runs: CalibrationRuns,
    rasch: RaschModel,
    fits: Mapping[str, Future[object]],
    sizes: Sequence[int],
    seed: int,
    seconds: dict[str, float],
) -> list[ReplayResidual]:
    """Replay a method once the models it needs are fitted; nothing where one is not there."""
    calibration = _calibration(rasch, method.models, fits)
    if not method.works_with(calibration):
        return []
    with timed(seconds, f"replay of {method.name}"):
        rng = generator(seed, method.name, "replay")
        return step_residuals(runs, sizes, method, like=calibration, rng=rng)


def _pair_variance(runs: CalibrationRuns, model: RaschModel) -> float:
    """Run-to-run variance from disjoint consecutive runs of one configuration."""
    scores = runs.matrix.pass_rates()
    waiting: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for row, configuration in enumerate(runs.configurations or ()):
        if not configuration:
            continue
        if configuration in waiting:
            pairs.append((waiting.pop(configuration), row))
        else:
            waiting[configuration] = row
    if not pairs:
        return 0.0
    probability = pass_probability(model.ability[:, np.newaxis], model.difficulty)
    trials = runs.matrix.trials
    noise = np.divide(
        probability * (1.0 - probability), trials, out=np.zeros(trials.shape), where=trials > 0
    )
    variance = noise.sum(axis=1) / np.maximum((trials > 0).sum(axis=1), 1) ** 2
    earlier, later = np.array(pairs, dtype=np.intp).T
    return run_to_run_variance(
        scores[later] - scores[earlier],
        verdict_variance=float(np.mean(variance[earlier] + variance[later])),
    )


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Note the wall time of a phase, also of one that fails."""
    start = perf_counter()
    try:
        yield
    finally:
        seconds[phase] = perf_counter() - start
