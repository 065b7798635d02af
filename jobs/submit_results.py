"""From the verdicts of a run to an estimate of its full pass rate."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from jobs.app import App
from jobs.in_force import (
    AUTO,
    calibration_for_partial,
    calibration_in_force,
    chosen_method,
    estimate_under,
)
from jobs.nightly_history import failing_reasons
from jobs.targets import Target
from jobs.verdict_counts import Verdicts
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.records import FULL_RUN_MIN_VALID, Run, RunKind, ScoreEstimate
from storage.calibration_records import CalibrationRecord
from storage.estimates import list_estimates, save_estimate
from storage.history import History
from storage.runs import find_run, list_runs
from storage.subsets import SubsetRecord, find_subset
from storage.verdicts import load_matrix


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
        If no calibration was in force when it started.
    """
    with app.open_history(read_only=True) as history:
        run = find_run(history, reference, benchmark=benchmark)
        result = estimate_stored(app, history, run, subset_id=subset_id, method=method)
    with app.open_history() as history:
        with history.transaction():
            keep_estimate(app, history, run, result)
        history.checkpoint()
    return result


def estimate_stored(
    app: App,
    history: History,
    run: Run,
    *,
    subset_id: str | None = None,
    method: str = AUTO,
) -> RunEstimate:
    """Estimate a stored run under the calibration in force when it started."""
    subset = find_asked(history, subset_id or run.subset_id, run.run_key, run.benchmark)
    target = (run.benchmark, run.agent_family)
    if subset is not None and run.subset_id == subset.subset_id:
        calibration = calibration_for_partial(history, *target, run.started_at, subset)
    else:
        calibration = calibration_in_force(history, *target, run.started_at)
    reasons = failing_reasons(app.settings.for_benchmark(run.benchmark))
    row = load_matrix(
        history,
        [run],
        calibration.model.question_ids,
        bank_version=calibration.bank_version,
        missing_as_fail=reasons,
    )
    return estimate_verdicts(
        app,
        calibration,
        Verdicts(passes=row.passes[0], trials=row.trials[0], started_at=run.started_at),
        run_key=run.run_key,
        subset=subset,
        method=method,
    )


def estimate_partial_runs(app: App, target: Target) -> int:
    """Estimate and keep every partial run of a target that has no estimate yet.

    A run without a calibration before it or without a valid verdict is left alone.

    Returns
    -------
    int
        Number of estimates made.
    """
    made: list[tuple[Run, RunEstimate]] = []
    with app.open_history(read_only=True) as history:
        known = {record.run_id for record in list_estimates(history, target.benchmark)}
        for run in list_runs(
            history, target.benchmark, family=target.family, kinds=[RunKind.PARTIAL]
        ):
            if run.run_id not in known:
                with suppress(InputError, NotEnoughDataError):
                    made.append((run, estimate_stored(app, history, run)))
    if made:
        with app.open_history() as history:
            with history.transaction():
                for run, result in made:
                    keep_estimate(app, history, run, result)
            history.checkpoint()
    return len(made)


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


def find_asked(
    history: History, subset_id: str | None, run_key: str, benchmark: str
) -> SubsetRecord | None:
    """Find the subset that a run of a benchmark was asked, if it was asked one.

    Raises
    ------
    InputError
        If the subset is unknown or belongs to another benchmark.
    """
    if subset_id is None:
        return None
    record = find_subset(history, subset_id)
    if record.benchmark != benchmark:
        raise InputError(
            f"subset {subset_id!r} belongs to benchmark {record.benchmark!r}, "
            f"but run {run_key!r} to {benchmark!r}"
        )
    return record


def estimate_verdicts(
    app: App,
    calibration: CalibrationRecord,
    verdicts: Verdicts,
    *,
    run_key: str,
    subset: SubsetRecord | None,
    method: str,
) -> RunEstimate:
    """Estimate verdicts under a calibration and count what stands behind the estimate.

    Raises
    ------
    InputError
        If no subset was asked and too few of all questions have a valid verdict.
    """
    settings = app.settings.for_benchmark(calibration.benchmark)
    ids = calibration.model.question_ids
    chosen = set(ids if subset is None else subset.subset.question_ids)
    asked = np.array([question in chosen for question in ids])
    n_valid = int((verdicts.trials > 0).sum())
    if subset is None and 0 < n_valid < FULL_RUN_MIN_VALID * len(ids):
        raise InputError(
            f"run {run_key!r} has valid verdicts on {n_valid} of {len(ids)} questions, too few for "
            "a full run; name the subset that was asked with --subset"
        )
    estimate = estimate_under(
        calibration,
        verdicts,
        subset=None if subset is None else subset.subset,
        method=chosen_method(method),
        level=settings.level,
    )
    valid = asked & (verdicts.trials > 0)
    return RunEstimate(
        run_key=run_key,
        benchmark=calibration.benchmark,
        k=len(chosen),
        subset_id=None if subset is None else subset.subset_id,
        calibration_id=calibration.calibration_id,
        estimate=estimate,
        n_passed=float((verdicts.passes[valid] / verdicts.trials[valid]).sum()),
        n_questions=len(ids),
        failing_reasons=tuple(failing_reasons(settings)),
    )
