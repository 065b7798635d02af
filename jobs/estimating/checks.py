"""Full runs against what every checked method would have said of them."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from jobs.app.app import App
from jobs.app.targets import Target, choose_targets
from jobs.estimating.asked import StepByStep, SubsetVersions
from jobs.estimating.estimate import estimate_under
from jobs.randomness import generator
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.registry import checked_methods
from recurring_eval.methods.steps import StepMethod, drawn_order
from recurring_eval.records import Run, RunKind, ScoreEstimate
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import (
    StoredCalibration,
    list_calibrations,
    load_calibration,
)
from storage.calibrations.estimates import FullRunCheck, save_checks
from storage.calibrations.subsets import SubsetRecord
from storage.file.history import History
from storage.runs.runs import find_run, list_runs

CHECKED = checked_methods()
KINDS = tuple({kind.name: kind for method in CHECKED for kind in method.models}.values())
TELL_EVERY = 10
"""Runs between two lines of progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A full run with what judges it.

    Attributes
    ----------
    run : Run
    verdicts : ResponseMatrix
        Its one row on the calibration's questions.
    calibration : StoredCalibration
        Its data end before the run.
    subsets : list of SubsetRecord
        In use when the run started, one per design and size.
    """

    run: Run
    verdicts: ResponseMatrix
    calibration: StoredCalibration
    subsets: list[SubsetRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSummary:
    """Accuracy of one method at one k over the checked runs; errors in percentage points."""

    benchmark: str
    agent_family: str
    method: str
    k: int
    n: int
    mae_pp: float
    max_error_pp: float
    bias_pp: float
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Every check made, its summary, and the runs that could not be checked.

    Attributes
    ----------
    rows : tuple of FullRunCheck
        By start of the run, method and k.
    summary : tuple of CheckSummary
    skipped : dict of str to str
        Run key -> why it was not checked.
    """

    rows: tuple[FullRunCheck, ...]
    summary: tuple[CheckSummary, ...]
    skipped: dict[str, str]


def check_full_runs(
    app: App,
    references: Sequence[str] = (),
    *,
    since: datetime | None = None,
    benchmark: str | None = None,
    family: str | None = None,
) -> CheckReport:
    """Check full runs and keep the results.

    Each run is judged by the latest calibration whose data end before the run, from
    its own verdicts and over its own valid questions: for every k on the questions of
    the subset in use, and on those that each step-by-step method would have asked.

    Parameters
    ----------
    app : App
    references : sequence of str
        Runs; by default every full run there is a calibration for.
    since : datetime, optional
        Only runs started at or after it.
    benchmark, family : str, optional

    Raises
    ------
    InputError
        If a named run is unknown or no full run.
    NotEnoughDataError
        If there is nothing to check.
    """
    judged: dict[Target, list[JudgedRun]] = {}
    skipped: dict[str, str] = {}
    with app.open_history(read_only=True) as history:
        for target in choose_targets(history, benchmark=benchmark, family=family):
            runs = _runs(history, target, references, since, benchmark)
            judged[target], why_not = _judge_target(app, history, target, runs)
            skipped |= why_not
    rows: list[FullRunCheck] = []
    summary: list[CheckSummary] = []
    for target, of_target in judged.items():
        found = []
        for done, one in enumerate(of_target):
            if done % TELL_EVERY == 0:
                app.console.progress(f"checking full run {done + 1} of {len(of_target)}")
            found += _check(app, one)
        found.sort(key=lambda row: (row.started_at, row.run_key, row.method, row.k))
        rows += found
        summary += _summarise(found, target)
    if not rows:
        reason = next(iter(skipped.values()), _nothing_found(references, since))
        raise NotEnoughDataError(f"nothing to check: {reason}")
    with app.writing() as history:
        save_checks(history, rows)
    return CheckReport(rows=tuple(rows), summary=tuple(summary), skipped=skipped)


def _nothing_found(references: Sequence[str], since: datetime | None) -> str:
    if references:
        return "none of the runs named is of that benchmark, family and time"
    if since is not None:
        return f"no full run started on {since:%Y-%m-%d} or later; import some"
    return (
        "no full run is newer than the data of a calibration; import newer runs, or run "
        "`recurring-eval recalibrate --as-of` an earlier date"
    )


def _runs(
    history: History,
    target: Target,
    references: Sequence[str],
    since: datetime | None,
    benchmark: str | None,
) -> list[Run]:
    if not references:
        runs = list_runs(
            history, target.benchmark, family=target.family, kinds=[RunKind.FULL], since=since
        )
        ends = [info.data_end for info in list_calibrations(history, *target.key)]
        return [run for run in runs if since is not None or (ends and run.started_at > min(ends))]
    found = (find_run(history, reference, benchmark=benchmark) for reference in references)
    named = list({run.run_id: run for run in found}.values())
    for run in named:
        if run.kind is not RunKind.FULL:
            raise InputError(
                f"run {run.run_key} is {run.kind.value}, not a full run; "
                "use `recurring-eval estimate` for it"
            )
    return [
        run
        for run in named
        if (run.benchmark, run.agent_family) == (target.benchmark, target.family)
        and (since is None or run.started_at >= since)
    ]


def _judge_target(
    app: App, history: History, target: Target, runs: Sequence[Run]
) -> tuple[list[JudgedRun], dict[str, str]]:
    """Load what judges each run, and why some cannot be judged."""
    calibrations = list_calibrations(history, *target.key)
    by_calibration: dict[int, list[Run]] = {}
    skipped: dict[str, str] = {}
    for run in runs:
        before = [info for info in calibrations if info.data_end < run.started_at]
        if run.under_covered:
            skipped[run.run_key] = (
                f"run {run.run_key} has valid verdicts on {run.n_valid} of {run.bank_size} "
                "questions, too few for a full run"
            )
        elif not before:
            skipped[run.run_key] = (
                f"no calibration has data that end before run {run.run_key}; "
                "run `recurring-eval recalibrate --as-of` a date before it"
            )
        else:
            by_calibration.setdefault(before[-1].calibration_id, []).append(run)
    versions = SubsetVersions.load(history, target)
    view = app.view(target.benchmark)
    judged: list[JudgedRun] = []
    for calibration_id, group in by_calibration.items():
        info = next(info for info in calibrations if info.calibration_id == calibration_id)
        calibration = load_calibration(history, info, KINDS)
        ids = calibration.fitted.question_ids
        matrix = view.matrix(history, group, ids, bank_version=info.bank_version)
        for i, run in enumerate(group):
            subsets = versions.in_use(run.started_at)
            one = JudgedRun(
                run=run,
                verdicts=matrix.select_runs(slice(i, i + 1)),
                calibration=calibration,
                subsets=[r for r in subsets if set(ids).issuperset(r.subset.question_ids)],
            )
            if subsets or any(True for _ in _step_methods(one)):
                judged.append(one)
                continue
            skipped[run.run_key] = (
                f"no subset was chosen from data that end before run {run.run_key}; ask for "
                "one with `recurring-eval subset`, or `recalibrate --as-of` a date before it"
            )
    return judged, skipped


def _check(app: App, judged: JudgedRun) -> list[FullRunCheck]:
    """Compare every estimate of a run with its full pass rate."""
    run, full = judged.run, float(judged.verdicts.pass_rates()[0])
    return [
        FullRunCheck(
            run_id=run.run_id,
            run_key=run.run_key,
            started_at=run.started_at,
            method=estimate.method,
            k=k,
            subset_id=subset_id,
            calibration_id=judged.calibration.info.calibration_id,
            estimate=estimate.pass_rate,
            low=estimate.low,
            high=estimate.high,
            full_pass_rate=full,
            error_pp=100.0 * (estimate.pass_rate - full),
            covered=estimate.low <= full <= estimate.high,
            checked_at=app.clock.now(),
        )
        for estimate, k, subset_id in (*_by_subsets(app, judged), *_by_steps(app, judged))
    ]


def _by_subsets(app: App, judged: JudgedRun) -> Iterator[tuple[ScoreEstimate, int, str | None]]:
    """Estimate a run on the questions of each subset; k and the subset's id go with it."""
    view, calibration = app.view(judged.run.benchmark), judged.calibration
    fixed = [m for m in CHECKED if isinstance(m, FixedMethod) and calibration.fitted.has(m.models)]
    for record, method in itertools.product(judged.subsets, fixed):
        if method.design == record.subset.design:
            estimate = estimate_under(
                view, calibration, judged.verdicts, record, method, valid_only=True
            )
            yield estimate, record.subset.k, record.subset_id


def _by_steps(app: App, judged: JudgedRun) -> Iterator[tuple[ScoreEstimate, int, str | None]]:
    """Ask the run's own verdicts along one path of each method and estimate it at every size."""
    view, verdicts = app.view(judged.run.benchmark), judged.verdicts
    fitted = judged.calibration.fitted
    for method, sizes in _step_methods(judged):
        rng = generator(app.settings.seed, "check", method.name, judged.run.run_key)
        replayed = method.replay(
            fitted,
            verdicts.passes,
            verdicts.trials,
            ks=sizes,
            population=verdicts.trials > 0,
            orders=drawn_order(fitted.question_ids, rng)[np.newaxis],
        )
        for at_k in replayed:
            questions = np.array(fitted.question_ids)[at_k.observed[0]].tolist()
            asked = StepByStep(question_ids=frozenset(questions), k=at_k.k, chosen_by=method.name)
            estimate = estimate_under(
                view,
                judged.calibration,
                verdicts,
                asked,
                method,
                valid_only=True,
                scores=at_k.scores,
            )
            yield estimate, at_k.k, None


def _step_methods(judged: JudgedRun) -> Iterator[tuple[StepMethod, list[int]]]:
    """Methods with residuals in the calibration, and their sizes that leave something to ask."""
    n_valid = int((judged.verdicts.trials > 0).sum())
    for method in CHECKED:
        if isinstance(method, StepMethod) and method.works_with(judged.calibration.fitted):
            known = {r.k for r in judged.calibration.residuals if r.method == method.name}
            if sizes := sorted(k for k in known if k < n_valid):
                yield method, sizes


def _summarise(rows: Sequence[FullRunCheck], target: Target) -> list[CheckSummary]:
    """Summarise checks of one target per k and method."""
    groups: dict[tuple[int, str], list[FullRunCheck]] = {}
    for row in rows:
        groups.setdefault((row.k, row.method), []).append(row)
    summary = []
    for (k, method), group in sorted(groups.items()):
        errors = np.array([row.error_pp for row in group])
        summary.append(
            CheckSummary(
                benchmark=target.benchmark,
                agent_family=target.family,
                method=method,
                k=k,
                n=len(group),
                mae_pp=float(np.abs(errors).mean()),
                max_error_pp=float(np.abs(errors).max()),
                bias_pp=float(errors.mean()),
                coverage=float(np.mean([row.covered for row in group])),
            )
        )
    return summary
