"""Fill a nightly report page from the history."""

from collections.abc import Sequence
from datetime import date, timedelta
from importlib.metadata import version as installed_version

import numpy as np

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.app.targets import Target
from jobs.nights.history import end_of
from jobs.pages.questions import difficulty_points, hspr_sources, question_flags
from jobs.pages.sections import (
    cache_window,
    check_points,
    data_health,
    history_points,
    job_rows,
    last_full_run,
    open_alerts,
    partial_estimates,
    subset_summaries,
)
from recurring_eval.intervals import conformal_scale
from recurring_eval.methods.hspr import HSPR_SOURCES
from recurring_eval.methods.registry import checked_methods
from recurring_eval.records import Run, RunKind
from reports.context import (
    DifficultyPoint,
    ErrorPoint,
    Headline,
    NightlyPage,
    QuestionFlag,
    TodaysError,
)
from reports.names import INDEX_NAME
from storage.calibrations.calibrations import (
    StoredCalibration,
    calibration_on,
    latest_calibration,
    load_calibration,
)
from storage.calibrations.estimates import FullRunCheck, list_checks
from storage.file.history import History
from storage.runs.runs import list_runs

METHODS_SHOWN = tuple(method.name for method in checked_methods())

HISTORY_DAYS = 90
"""Days of history drawn on a page."""


def nightly_page(app: App, history: History, target: Target, day: date) -> NightlyPage:
    """Gather everything the page of one night shows.

    Parameters
    ----------
    app : App
    history : History
        Open; read only.
    target : Target
    day : date
        Date of the night; later runs are left out.
    """
    runs = list_runs(history, target.benchmark, family=target.family, before=end_of(day))
    info = calibration_on(history, *target.key, day)
    if info is None:
        info = latest_calibration(history, *target.key, data_before=end_of(day))
    calibration = None if info is None else load_calibration(history, info, (HSPR_SOURCES,))
    checks = [
        check
        for check in list_checks(history, target.benchmark, family=target.family)
        if check.started_at < end_of(day)
    ]
    view = app.view(target.benchmark)
    scores = view.scores(history, runs)
    cache, cache_share = cache_window(view, history, target, day)
    health = data_health(app, view, history, runs, scores, calibration)
    subsets = subset_summaries(history, target, before=app.clock.now())
    difficulty: tuple[DifficultyPoint, ...] = ()
    flags: tuple[QuestionFlag, ...] = ()
    if calibration is not None:
        fitted = _fitted_runs(runs, calibration)
        matrix = view.matrix(
            history,
            fitted,
            calibration.fitted.question_ids,
            bank_version=calibration.info.bank_version,
        )
        difficulty = difficulty_points(history, target, calibration, matrix)
        flags = question_flags(matrix)
    recent = [run for run in runs if run.started_at >= end_of(day) - timedelta(days=HISTORY_DAYS)]
    shown = recent if recent else runs
    return NightlyPage(
        benchmark=target.benchmark,
        agent_family=target.family,
        day=day,
        made_at=app.clock.now(),
        version=installed_version("recurring-eval"),
        bank_version="" if calibration is None else calibration.info.bank_version[:12],
        n_questions=0 if calibration is None else calibration.fitted.n_questions,
        headline=Headline(
            last_full_run=last_full_run(runs, scores),
            errors=_todays_errors(view, calibration, checks, runs),
            cache_share=cache_share,
            health=health,
        ),
        history=history_points(shown, scores),
        partial_estimates=partial_estimates(history, target, shown),
        difficulty=difficulty,
        errors=(*_replayed(calibration), *check_points(checks)),
        cache=cache,
        hspr=hspr_sources(history, target, calibration, runs),
        flags=flags,
        subsets=subsets,
        jobs=job_rows(history, target, before=app.clock.now()),
        open_alerts=open_alerts(history, target),
        interval_level=view.level,
        index_href=INDEX_NAME,
    )


def _fitted_runs(runs: Sequence[Run], calibration: StoredCalibration) -> list[Run]:
    used = set(calibration.fitted.rasch.run_ids)
    return [run for run in runs if run.run_key in used]


def _todays_errors(
    view: BenchmarkView,
    calibration: StoredCalibration | None,
    checks: Sequence[FullRunCheck],
    runs: Sequence[Run],
) -> tuple[TodaysError, ...]:
    if calibration is None:
        return ()
    full = [run for run in runs if run.kind is RunKind.FULL and not run.under_covered]
    last = {
        (check.method, check.k): check
        for check in checks
        if full and check.run_id == full[-1].run_id
    }
    found = []
    for k in sorted({residual.k for residual in calibration.residuals}):
        for method in METHODS_SHOWN:
            mine = [r for r in calibration.residuals if (r.method, r.k) == (method, k)]
            if not mine:
                continue
            width = conformal_scale(calibration.residuals, method=method, k=k).half_width(
                float(np.median([r.model_sd for r in mine])),
                level=view.level,
                pass_rate=float(np.mean([r.full_pass_rate for r in mine])),
                k=k,
                n=calibration.fitted.n_questions,
            )
            check = last.get((method, k))
            found.append(
                TodaysError(
                    method=method,
                    k=k,
                    expected_error_pp=100.0 * float(np.mean([abs(r.error) for r in mine])),
                    half_width_pp=100.0 * width.value,
                    last_run_error_pp=None if check is None else check.error_pp,
                    last_run_covered=None if check is None else check.covered,
                )
            )
    return tuple(found)


def _replayed(calibration: StoredCalibration | None) -> tuple[ErrorPoint, ...]:
    if calibration is None:
        return ()
    points = []
    for k in sorted({residual.k for residual in calibration.residuals}):
        for method in METHODS_SHOWN:
            errors = [r.error for r in calibration.residuals if (r.method, r.k) == (method, k)]
            if errors:
                points.append(
                    ErrorPoint(
                        source="replay",
                        method=method,
                        k=k,
                        mae_pp=100.0 * float(np.mean(np.abs(errors))),
                        bias_pp=100.0 * float(np.mean(errors)),
                        coverage=None,
                        n=len(errors),
                    )
                )
    return tuple(points)
