"""From the verdicts of a run to an estimate of its full pass rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jobs.app import App
from jobs.harnesses.harness import ReadOptions
from jobs.import_sources import read_sources
from jobs.in_force import AUTO, Verdicts, calibration_in_force, chosen_method, estimate_under
from jobs.nightly_history import failing_reasons
from jobs.targets import one_target
from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, PASS, Run, RunLog, ScoreEstimate
from storage.calibration_records import CalibrationRecord
from storage.estimates import save_estimate
from storage.history import History
from storage.runs import find_run
from storage.subsets import find_subset
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
    calibration = calibration_in_force(history, run.benchmark, run.agent_family, at=run.started_at)
    reasons = failing_reasons(app.settings.for_benchmark(run.benchmark))
    row = load_matrix(
        history,
        [run],
        calibration.model.question_ids,
        bank_version=calibration.bank_version,
        missing_as_fail=reasons,
    )
    return _estimate(
        app,
        history,
        calibration,
        Verdicts(passes=row.passes[0], trials=row.trials[0], started_at=run.started_at),
        run_key=run.run_key,
        subset_id=subset_id or run.subset_id,
        method=method,
    )


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


def estimate_file(
    app: App,
    path: Path,
    *,
    subset_id: str | None = None,
    method: str = AUTO,
    benchmark: str | None = None,
    options: ReadOptions | None = None,
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
    options : ReadOptions, optional

    Raises
    ------
    InputError
        If the file is refused, holds several runs, or questions nobody knows.
    """
    (source,) = read_sources([path], harness="auto", options=options or ReadOptions())
    if source.refusal is not None:
        raise InputError(f"{path}: {source.refusal}")
    if len(source.logs) != 1:
        keys = ", ".join(log.run_key for log in source.logs[:5])
        raise InputError(
            f"{path}: holds {len(source.logs)} runs ({keys}); import it and estimate one by its id"
        )
    log = source.logs[0]
    with app.open_history(read_only=True) as history:
        target = one_target(history, benchmark=benchmark or log.benchmark)
        calibration = calibration_in_force(
            history, target.benchmark, target.family, at=log.started_at
        )
        unknown = sorted(set(log.question_ids) - set(calibration.model.question_ids))
        if unknown:
            raise InputError(
                f"{path}: {len(unknown)} questions are not in the calibrated bank of "
                f"{target.benchmark!r}: {', '.join(unknown[:5])}; import the file to extend it"
            )
        reasons = failing_reasons(app.settings.for_benchmark(target.benchmark))
        return _estimate(
            app,
            history,
            calibration,
            verdicts_of(log, calibration.model.question_ids, failing=reasons),
            run_key=log.run_key,
            subset_id=subset_id or log.subset_id,
            method=method,
        )


def verdicts_of(log: RunLog, question_ids: Sequence[str], *, failing: Sequence[str]) -> Verdicts:
    """Count a log's passes and valid trials on the given questions.

    Parameters
    ----------
    log : RunLog
    question_ids : sequence of str
        Includes every question of the log.
    failing : sequence of str
        Reasons for which a missing verdict counts as a fail.
    """
    position = {question: j for j, question in enumerate(question_ids)}
    column = np.array([position[question] for question in log.question_ids])[log.question_index]
    as_fail = np.array([*(reason in failing for reason in log.reasons), False])[log.reason_index]
    passes = np.zeros(len(question_ids), dtype=np.int16)
    trials = np.zeros_like(passes)
    np.add.at(passes, column[log.outcome == PASS], 1)
    np.add.at(trials, column[(log.outcome != MISSING) | as_fail], 1)
    return Verdicts(passes=passes, trials=trials, started_at=log.started_at)


def _estimate(
    app: App,
    history: History,
    calibration: CalibrationRecord,
    verdicts: Verdicts,
    *,
    run_key: str,
    subset_id: str | None,
    method: str,
) -> RunEstimate:
    settings = app.settings.for_benchmark(calibration.benchmark)
    subset = None if subset_id is None else find_subset(history, subset_id).subset
    ids = calibration.model.question_ids
    chosen = set(ids if subset is None else subset.question_ids)
    asked = np.array([question in chosen for question in ids])
    estimate = estimate_under(
        calibration,
        verdicts,
        subset=subset,
        method=chosen_method(method),
        level=settings.level,
    )
    valid = asked & (verdicts.trials > 0)
    return RunEstimate(
        run_key=run_key,
        benchmark=calibration.benchmark,
        k=len(chosen),
        subset_id=subset_id,
        calibration_id=calibration.calibration_id,
        estimate=estimate,
        n_passed=float((verdicts.passes[valid] / verdicts.trials[valid]).sum()),
        n_questions=len(ids),
        failing_reasons=tuple(failing_reasons(settings)),
    )
