"""Full runs against what HSPR would have said, had it asked them question by question."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from jobs.app.app import App
from jobs.app.targets import Target, choose_targets
from jobs.estimating.check_rows import CheckSummary, JudgedRun, check_row, summarise
from jobs.estimating.subset_versions import SubsetVersions
from jobs.estimating.under_calibration import estimate_under
from jobs.importing.verdict_counts import Verdicts
from jobs.nights.fit import SUBSET_METHODS
from jobs.randomness import generator
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr import run_checkpoints
from recurring_eval.methods import method_named
from recurring_eval.methods.hspr import HSPR
from recurring_eval.records import Run, RunKind
from storage.calibrations.calibration_records import CalibrationRecord
from storage.calibrations.calibrations import calibration_by_id, list_calibrations
from storage.calibrations.estimates import FullRunCheck, save_checks
from storage.file.history import History
from storage.runs.runs import find_run, list_runs

TELL_EVERY = 10
"""Runs between two lines of progress; each takes about a second."""


def check_step_by_step(app: App, judged: Sequence[JudgedRun]) -> list[FullRunCheck]:
    """Ask each run's own verdicts along one path and estimate it at every size.

    The sizes are those of the calibration's residuals that leave something to estimate.
    Runs whose calibration has no sources are left out.
    """
    able = [one for one in judged if sizes_of(one)]
    rows: list[FullRunCheck] = []
    for done, one in enumerate(able):
        if done % TELL_EVERY == 0:
            app.console.progress(
                f"asking full run {done + 1} of {len(able)} question by question ({HSPR.name})"
            )
        rows += _check_run(app, one)
    return rows


def sizes_of(judged: JudgedRun) -> list[int]:
    """Numbers of questions at which HSPR judges a run; empty where it cannot."""
    if judged.calibration.hspr is None:
        return []
    n_valid = int((judged.verdicts.trials > 0).sum())
    known = {r.k for r in judged.calibration.residuals if r.method == HSPR.name}
    return sorted(k for k in known if k < n_valid)


def _check_run(app: App, judged: JudgedRun) -> list[FullRunCheck]:
    calibration, verdicts = judged.calibration, judged.verdicts
    if calibration.hspr is None:
        return []
    sizes, valid = sizes_of(judged), verdicts.trials > 0
    results = run_checkpoints(
        calibration.hspr.model,
        verdicts.passes,
        verdicts.trials,
        budgets=sizes,
        config=calibration.hspr.config,
        rng=generator(app.settings.seed, "check", HSPR.name, judged.run.run_key),
        population=valid,
    )
    rows = []
    for k, result in zip(sizes, results, strict=True):
        asked = set(result.asked)
        estimate = estimate_under(
            app.view(judged.run.benchmark),
            calibration,
            verdicts,
            subset=None,
            asked=np.array([question in asked for question in calibration.model.question_ids]),
            method=HSPR,
            population=valid,
        )
        rows.append(check_row(judged, estimate, k=k, subset_id=None, now=app.clock.now()))
    return rows


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
    the subset in force, and on those that ``hspr`` would have asked.

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
        found = [row for one in of_target for row in _check_by_subsets(app, one)]
        found += check_step_by_step(app, of_target)
        found.sort(key=lambda row: (row.started_at, row.run_key, row.method, row.k))
        rows += found
        summary += summarise(found, target)
    if not rows:
        reason = next(iter(skipped.values()), _nothing_found(references, since))
        raise NotEnoughDataError(f"nothing to check: {reason}")
    with app.open_history() as history:
        with history.transaction():
            save_checks(history, rows)
        history.checkpoint()
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
    judged: list[JudgedRun] = []
    for calibration_id, group in by_calibration.items():
        calibration = calibration_by_id(history, calibration_id)
        for one in _judge_group(app, history, calibration, group, versions):
            if versions.in_force(one.run.started_at) or sizes_of(one):
                judged.append(one)
                continue
            skipped[one.run.run_key] = (
                f"no subset was chosen from data that end before run {one.run.run_key}; ask for "
                "one with `recurring-eval subset`, or `recalibrate --as-of` a date before it"
            )
    return judged, skipped


def _judge_group(
    app: App,
    history: History,
    calibration: CalibrationRecord,
    runs: Sequence[Run],
    versions: SubsetVersions,
) -> list[JudgedRun]:
    """Load the verdicts of the runs that one calibration judges."""
    ids = calibration.model.question_ids
    matrix = app.view(calibration.benchmark).matrix(
        history, runs, ids, bank_version=calibration.bank_version
    )
    known, scores = set(ids), matrix.pass_rates()
    return [
        JudgedRun(
            run=run,
            verdicts=Verdicts(
                passes=matrix.passes[i], trials=matrix.trials[i], started_at=run.started_at
            ),
            full_pass_rate=float(scores[i]),
            calibration=calibration,
            subsets=tuple(
                record
                for record in versions.in_force(run.started_at)
                if known.issuperset(record.subset.question_ids)
            ),
        )
        for i, run in enumerate(runs)
    ]


def _check_by_subsets(app: App, judged: JudgedRun) -> list[FullRunCheck]:
    view = app.view(judged.run.benchmark)
    checks = []
    for record, name in itertools.product(judged.subsets, SUBSET_METHODS):
        estimate = estimate_under(
            view,
            judged.calibration,
            judged.verdicts,
            subset=record.subset,
            method=method_named(name),
            population=judged.verdicts.trials > 0,
        )
        row = check_row(
            judged, estimate, k=record.subset.k, subset_id=record.subset_id, now=app.clock.now()
        )
        # The estimate goes by the short name of `stratified+weighted`, checks by the full one.
        checks.append(replace(row, method=name))
    return checks
