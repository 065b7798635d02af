"""The sources of HSPR and its latest estimates, for a nightly report page."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from jobs.app.targets import Target
from recurring_eval.records import Flag, Run
from recurring_eval.response_matrix import ResponseMatrix
from reports.context import DifficultyPoint, FlagKind, HsprEstimate, HsprSources, QuestionFlag
from storage.calibrations.calibration_records import CalibrationRecord
from storage.calibrations.estimates import list_estimates
from storage.calibrations.subsets import published_subsets
from storage.file.history import History

ESTIMATES_SHOWN = 20


def hspr_sources(
    history: History,
    target: Target,
    calibration: CalibrationRecord | None,
    runs: Sequence[Run],
) -> HsprSources | None:
    """Describe a calibration's sources and the estimates given for the runs; None without."""
    if calibration is None or calibration.hspr is None:
        return None
    model = calibration.hspr.model
    facts = calibration.settings.get("hspr") or {}
    return HsprSources(
        configuration=calibration.hspr.config.name,
        n_sources=len(model.source_ids),
        n_groups=model.n_groups,
        source_zero_share=model.source_zero_share,
        n_held_out=int(facts.get("held_out", 0)),
        selection_mae_pp=facts.get("mae_pp"),
        estimates=_latest(history, target, runs),
    )


def _latest(history: History, target: Target, runs: Sequence[Run]) -> tuple[HsprEstimate, ...]:
    """Last estimate by HSPR of each run, for the newest runs."""
    known = {run.run_id: run for run in runs}
    found: dict[int, HsprEstimate] = {}
    for record in list_estimates(history, target.benchmark):
        diagnostics = record.estimate.diagnostics
        if diagnostics is not None and record.run_id in known:
            found[record.run_id] = HsprEstimate(
                run_key=record.run_key,
                at=known[record.run_id].started_at,
                k=record.k,
                effective_sample_size=min(1.0, diagnostics.effective_sample_size),
                asked_source_zero_share=diagnostics.queried_source_zero_share,
                shift_pp=100.0 * diagnostics.calibration,
                extrapolating=Flag.EXTRAPOLATING in record.estimate.flags,
            )
    newest = sorted(found.values(), key=lambda one: (one.at, one.run_key))
    return tuple(newest[-ESTIMATES_SHOWN:])


FEW_RESPONSES: Final = 5
FLAKY_SHARE: Final = 0.4
"""Share of neighbouring runs that disagree on a flaky question; a coin has .5."""
MIN_FLAKY_TRIALS: Final = 8


def difficulty_points(
    history: History, target: Target, calibration: CalibrationRecord, matrix: ResponseMatrix
) -> tuple[DifficultyPoint, ...]:
    """Place every question of the bank on the difficulty scale, with its subsets."""
    sizes: dict[str, list[int]] = {}
    for record in published_subsets(history, target.benchmark, target.family):
        for question in record.subset.question_ids:
            sizes.setdefault(question, []).append(record.subset.k)
    rates = matrix.question_pass_rates()
    answered = (matrix.trials > 0).sum(axis=0)
    return tuple(
        DifficultyPoint(
            question_id=question,
            difficulty=float(calibration.model.difficulty[j]),
            pass_rate=None if np.isnan(rates[j]) else float(rates[j]),
            n_responses=int(answered[j]),
            in_subsets=tuple(sorted(sizes.get(question, ()))),
        )
        for j, question in enumerate(calibration.model.question_ids)
    )


def question_flags(matrix: ResponseMatrix) -> tuple[QuestionFlag, ...]:
    """Flag questions that say little or change their mind in the calibration window.

    A question is flaky when, over runs in time order, its verdict flips between
    neighbours nearly as often as a coin would.
    """
    flags = []
    passes = matrix.passes.sum(axis=0)
    trials = matrix.trials.sum(axis=0)
    answered = (matrix.trials > 0).sum(axis=0)
    flips = _flip_shares(matrix)
    for j, question in enumerate(matrix.question_ids):
        found: list[tuple[FlagKind, str]] = []
        if answered[j] < FEW_RESPONSES:
            found.append(("few-responses", f"only {answered[j]} runs have a valid verdict on it"))
        elif passes[j] == trials[j]:
            found.append(("all-pass", "every trial passed: it no longer distinguishes runs"))
        elif passes[j] == 0:
            found.append(("all-fail", "no trial passed: hard, or broken"))
        elif flips[j] > FLAKY_SHARE and answered[j] >= MIN_FLAKY_TRIALS:
            share = f"{100 * flips[j]:.0f} %"
            found.append(
                ("flaky", f"its verdict changes between neighbouring runs {share} of times")
            )
        flags += [
            QuestionFlag(
                question_id=question,
                flag=flag,
                reason=reason,
                n_passes=int(passes[j]),
                n_trials=int(trials[j]),
                n_runs=int(answered[j]),
            )
            for flag, reason in found
        ]
    return tuple(flags)


def _flip_shares(matrix: ResponseMatrix) -> np.ndarray:
    """Share of neighbouring answered runs whose majority verdict differs, shape (n,)."""
    shares = np.zeros(matrix.n_questions)
    majority = 2 * matrix.passes >= matrix.trials
    for j in range(matrix.n_questions):
        seen = majority[matrix.trials[:, j] > 0, j]
        if len(seen) > 1:
            shares[j] = np.mean(seen[1:] != seen[:-1])
    return shares
