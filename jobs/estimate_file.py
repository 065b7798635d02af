"""Estimate a run from its log file, without storing anything."""

from pathlib import Path

from jobs.app import App
from jobs.harnesses.harness import ReadOptions
from jobs.import_sources import read_sources
from jobs.in_force import AUTO, calibration_in_force
from jobs.nightly_history import failing_reasons
from jobs.submit_results import RunEstimate, estimate_verdicts
from jobs.targets import one_target
from jobs.verdict_counts import verdicts_of
from recurring_eval.errors import InputError


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
        return estimate_verdicts(
            app,
            history,
            calibration,
            verdicts_of(log, calibration.model.question_ids, failing=reasons),
            run_key=log.run_key,
            subset_id=subset_id or log.subset_id,
            method=method,
        )
