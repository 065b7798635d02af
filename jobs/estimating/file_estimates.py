"""Estimate a run from its log file, without storing anything."""

from dataclasses import replace
from pathlib import Path

from jobs.app.app import App
from jobs.app.targets import one_benchmark
from jobs.estimating.asked import calibration_under_which, find_asked
from jobs.estimating.estimate import AUTO, chosen_method
from jobs.estimating.run_estimates import RunEstimate, estimate_verdicts
from jobs.harnesses.harness import ReadOptions
from jobs.importing.addressing import Addressing
from jobs.importing.sources import read_sources
from recurring_eval.errors import InputError
from storage.calibrations.calibrations import load_calibration


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
    with app.open_history(read_only=True) as history:
        addressing = Addressing.load(
            history, app.settings, benchmark=benchmark, subset_id=subset_id
        )
    options = addressing.read_options(options or ReadOptions())
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
            run_key=log.run_key,
            benchmark=name,
            subset_id=log.subset_id,
            session_id=log.session_id,
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
