"""Full runs against what HSPR would have said, had it asked them question by question."""

from collections.abc import Sequence

import numpy as np

from jobs.app import App
from jobs.check_row import JudgedRun, check_row
from jobs.in_force import estimate_under
from jobs.randomness import generator
from recurring_eval.hspr import run_checkpoints
from recurring_eval.methods.hspr import HSPR
from storage.checks import FullRunCheck

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
            calibration,
            verdicts,
            subset=None,
            asked=np.array([question in asked for question in calibration.model.question_ids]),
            method=HSPR,
            level=app.settings.for_benchmark(judged.run.benchmark).level,
            population=valid,
        )
        rows.append(check_row(judged, estimate, k=k, subset_id=None, now=app.clock.now()))
    return rows
