"""Estimate a run from its log file, without storing anything."""

from pathlib import Path

from jobs.app.app import App
from jobs.app.targets import one_benchmark
from jobs.estimating.asked import calibration_under_which, find_asked
from jobs.estimating.estimate import AUTO, chosen_method
from jobs.estimating.run_estimates import RunEstimate, estimate_verdicts
from jobs.harnesses.harness import ReadOptions
from jobs.importing.addressing import Addressing, asked_subset
from jobs.importing.rules import with_stored_rules
from jobs.importing.sources import read_sources
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog
from storage.calibrations.calibrations import load_calibration
from storage.calibrations.subsets import subset_benchmarks
from storage.runs.benchmarks import benchmark_names


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
        known = benchmark_names(history)
        options = with_stored_rules(
            history,
            options or ReadOptions(),
            benchmark=benchmark,
            only=known[0] if len(known) == 1 else None,
        )
    (source,) = read_sources([path], harness="auto", options=options)
    if source.refusal is not None:
        raise InputError(f"{path}: {source.refusal}")
    if len(source.logs) != 1:
        keys = ", ".join(log.run_key for log in source.logs[:5])
        raise InputError(
            f"{path}: holds {len(source.logs)} runs ({keys}); import it and estimate one by its id"
        )
    with app.open_history(read_only=True) as history:
        log = source.logs[0]
        handed_out = subset_benchmarks(history)
        subset_id = asked_subset(log, subset_id, handed_out)
        implied = handed_out.get(subset_id or "")
        named = log.benchmark
        if source.has_tasks and named is not None:
            named = implied or options.task_benchmarks.get((log.harness, named), named)
        name = one_benchmark(history, benchmark or named or implied)
        log = _as_imported(app, log, name, subset_id)
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
            view.verdicts_of_log(log, calibration.fitted.question_ids),
            run_key=log.run_key,
            asked=asked,
            method=estimator,
        )


def _as_imported(app: App, log: RunLog, benchmark: str, subset_id: str | None) -> RunLog:
    """Complete a log as an import would: family by the rules, subset by flag or tag."""
    addressing = Addressing(
        known=(benchmark,),
        settings=app.settings,
        benchmark=benchmark,
        purpose=None,
        subset_id=subset_id,
        create=False,
    )
    return addressing.address([log])[0]
