"""From the verdicts of a stored run or a log file to an estimate of the full pass rate."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.app.targets import Target, one_benchmark
from jobs.estimating.asked import Asked, StepByStep, calibration_under_which, find_asked
from jobs.estimating.estimate import AUTO, chosen_method, estimate_under
from jobs.harnesses.harness import ReadOptions
from jobs.importing.addressing import Addressing
from jobs.importing.sources import read_sources
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.steps import StepMethod
from recurring_eval.records import FULL_RUN_MIN_VALID, Run, RunKind, ScoreEstimate
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import StoredCalibration, load_calibration
from storage.calibrations.estimates import list_estimates, save_estimate
from storage.calibrations.subsets import SubsetRecord
from storage.file.history import History
from storage.runs.runs import find_run, list_runs
from storage.runs.verdicts import load_log


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEstimate:
    """An estimate and the plain counts behind it.

    Attributes
    ----------
    run_key : str
    benchmark : str
    k : int
        Questions that were asked for.
    subset_id : str or None
    calibration_id : int
    estimate : ScoreEstimate
    n_passed : float
        Sum over the asked questions of passes/trials.
    n_questions : int
        Questions in the bank.
    failing_reasons : tuple of str
        Reasons for which a missing verdict counts as a fail.
    """

    run_key: str
    benchmark: str
    k: int
    subset_id: str | None
    calibration_id: int
    estimate: ScoreEstimate
    n_passed: float
    n_questions: int
    failing_reasons: tuple[str, ...]


def estimate_run(
    app: App,
    reference: str,
    *,
    subset_id: str | None = None,
    method: str = AUTO,
    benchmark: str | None = None,
) -> RunEstimate:
    """Estimate a stored run and keep the estimate.

    Parameters
    ----------
    app : App
    reference : str
        Run id, unique prefix, ``last``, ``last-full`` or ``last-routine``.
    subset_id : str, optional
        Look only at this subset's questions; by default at what the run was
        asked for.
    method : str
    benchmark : str, optional

    Raises
    ------
    InputError
        If the run is unknown or has no valid verdict on the questions.
    NotEnoughDataError
        If no calibration was in use when it started.
    """
    with app.open_history(read_only=True) as history:
        run = find_run(history, reference, benchmark=benchmark)
        result = estimate_stored(app, history, run, subset_id=subset_id, method=method)
    with app.writing() as history:
        keep_estimate(app, history, run, result)
    return result


def estimate_file(
    app: App,
    path: Path,
    *,
    subset_id: str | None = None,
    method: str = AUTO,
    benchmark: str | None = None,
) -> RunEstimate:
    """Estimate the one run of a log file without storing anything.

    Parameters
    ----------
    app : App
    path : Path
    subset_id : str, optional
        What the run was asked for; by default what the log says.
    method : str
    benchmark : str, optional
        By default the log's, or the only one there is.

    Raises
    ------
    InputError
        If the file is refused, holds several runs, or questions nobody knows.
    """
    with app.open_history(read_only=True) as history:
        addressing = Addressing.load(
            history, app.settings, benchmark=benchmark, subset_id=subset_id
        )
    options = addressing.read_options(ReadOptions())
    (source,) = read_sources([path], harness="auto", options=options)
    if source.refusal is not None:
        raise InputError(f"{path}: {source.refusal}")
    runs = source.log.runs
    if len(runs) != 1:
        keys = ", ".join(log.run_key for log in runs[:5])
        raise InputError(
            f"{path}: holds {len(runs)} runs ({keys}); import it and estimate one by its id"
        )
    with app.open_history(read_only=True) as history:
        named = addressing.benchmark_of(runs[0], is_task=source.log.has_tasks)
        name = one_benchmark(history, named)
        (item,) = replace(addressing, known=(name,), benchmark=name).place([source])
        (log,) = item.logs
        asked = find_asked(
            history,
            log,
            name,
            subset_id=log.subset_id,
            own_questions=lambda: log.question_ids,
        )
        info = calibration_under_which(history, name, log.agent_family, log.started_at, asked)
        estimator = chosen_method(method, asked)
        calibration = load_calibration(history, info, estimator.models)
        unknown = sorted(set(log.question_ids) - set(calibration.fitted.question_ids))
        if unknown:
            shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            raise InputError(
                f"{path}: {len(unknown)} of its questions are not in the calibrated bank of "
                f"{name!r}: {shown}; import it with --extend-bank, then recalibrate"
            )
        view = app.view(name)
        return estimate_verdicts(
            view,
            calibration,
            view.matrix_of_log(log, calibration.fitted.question_ids),
            asked=asked,
            method=estimator,
        )


def estimate_stored(
    app: App,
    history: History,
    run: Run,
    *,
    subset_id: str | None = None,
    method: str = AUTO,
) -> RunEstimate:
    """Estimate a stored run under the calibration it was asked under."""
    asked = find_asked(
        history,
        run,
        run.benchmark,
        subset_id=subset_id or run.subset_id,
        own_questions=lambda: load_log(history, run).question_ids,
    )
    target = (run.benchmark, run.agent_family)
    chosen_later = isinstance(asked, SubsetRecord) and asked.subset_id != run.subset_id
    info = calibration_under_which(
        history, *target, run.started_at, None if chosen_later else asked
    )
    estimator = chosen_method(method, asked)
    calibration = load_calibration(history, info, estimator.models)
    view = app.view(run.benchmark)
    row = view.matrix(
        history, [run], calibration.fitted.question_ids, bank_version=info.bank_version
    )
    return estimate_verdicts(view, calibration, row, asked=asked, method=estimator)


def estimate_partial_runs(app: App, target: Target) -> None:
    """Estimate and keep every partial or adaptive run of a target without an estimate.

    A run without a calibration before it or without a valid verdict is left alone.
    """
    made: list[tuple[Run, RunEstimate]] = []
    with app.open_history(read_only=True) as history:
        known = {record.run_id for record in list_estimates(history, target.benchmark)}
        kinds = [RunKind.PARTIAL, RunKind.ADAPTIVE]
        for run in list_runs(history, target.benchmark, family=target.family, kinds=kinds):
            if run.run_id not in known:
                with suppress(InputError, NotEnoughDataError):
                    made.append((run, estimate_stored(app, history, run)))
    if made:
        with app.writing() as history:
            for run, result in made:
                keep_estimate(app, history, run, result)


def keep_estimate(app: App, history: History, run: Run, result: RunEstimate) -> None:
    """Store an estimate of a run, inside the caller's transaction."""
    save_estimate(
        history,
        run,
        result.estimate,
        k=result.k,
        subset_id=result.subset_id,
        calibration_id=result.calibration_id,
        created_at=app.clock.now(),
    )


def estimate_verdicts(
    view: BenchmarkView,
    calibration: StoredCalibration,
    run: ResponseMatrix,
    *,
    asked: Asked,
    method: FixedMethod | StepMethod,
) -> RunEstimate:
    """Estimate a one-row matrix under a calibration and count what stands behind the estimate.

    Raises
    ------
    InputError
        If the whole bank was asked and too few questions have a valid verdict, or the
        method cannot estimate from what was asked.
    """
    ids = calibration.fitted.question_ids
    if isinstance(asked, SubsetRecord):
        chosen, k = frozenset(asked.subset.question_ids), asked.subset.k
    elif isinstance(asked, StepByStep):
        chosen, k = asked.question_ids, asked.k
    else:
        chosen, k = frozenset(ids), len(ids)
    passes, trials = run.passes[0], run.trials[0]
    valid = np.array([question in chosen for question in ids]) & (trials > 0)
    n_valid = int((trials > 0).sum())
    if asked is None and 0 < n_valid < FULL_RUN_MIN_VALID * len(ids):
        raise InputError(
            f"run {run.run_ids[0]!r} has valid verdicts on {n_valid} of {len(ids)} questions, "
            "too few for a full run; name the subset that was asked with --subset"
        )
    return RunEstimate(
        run_key=run.run_ids[0],
        benchmark=calibration.info.benchmark,
        k=k,
        subset_id=asked.subset_id if isinstance(asked, SubsetRecord) else None,
        calibration_id=calibration.info.calibration_id,
        estimate=estimate_under(view, calibration, run, asked, method),
        n_passed=float((passes[valid] / trials[valid]).sum()),
        n_questions=len(ids),
        failing_reasons=view.failing_reasons,
    )
