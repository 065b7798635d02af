"""Questions on a nightly page: their difficulty, those to look at, and what the cache settles."""

from datetime import timedelta
from typing import Final

import numpy as np

from jobs.pages.night_data import NightData
from recurring_eval.response_matrix import ResponseMatrix
from reports.cache import CacheDay, CacheWindow
from reports.difficulty import DifficultyMap, DifficultyPoint
from reports.listings import FlaggedQuestions, FlagKind, QuestionFlag
from storage.calibrations.caches import load_cache
from storage.calibrations.subsets import published_subsets

CACHE_DAYS_SHOWN: Final = 28
FEW_RESPONSES: Final = 5
FLAKY_SHARE: Final = 0.4
"""Share of neighbouring runs that disagree on a flaky question; a coin has .5."""
MIN_FLAKY_TRIALS: Final = 8


def difficulty_map(night: NightData) -> DifficultyMap:
    """Place every question of the bank on the difficulty scale, with its subsets."""
    calibration, matrix = night.calibration, night.matrix
    if calibration is None or matrix is None:
        return DifficultyMap()
    sizes: dict[str, list[int]] = {}
    for record in published_subsets(night.history, *night.target.key):
        for question in record.subset.question_ids:
            sizes.setdefault(question, []).append(record.subset.k)
    rates = matrix.question_pass_rates()
    answered = (matrix.trials > 0).sum(axis=0)
    return DifficultyMap(
        questions=tuple(
            DifficultyPoint(
                question_id=question,
                difficulty=float(calibration.fitted.rasch.difficulty[j]),
                pass_rate=None if np.isnan(rates[j]) else float(rates[j]),
                n_responses=int(answered[j]),
                in_subsets=tuple(sorted(sizes.get(question, ()))),
            )
            for j, question in enumerate(calibration.fitted.question_ids)
        )
    )


def cache_window(night: NightData) -> CacheWindow:
    """Count what the cache settles day by day."""
    rule = night.view.settings.cache
    days = []
    for back in range(CACHE_DAYS_SHOWN, -2, -1):
        on = night.day - timedelta(days=back)
        cache = load_cache(night.history, *night.target.key, on)
        if cache is None:
            continue
        settled_pass = int((cache.cached & (2 * cache.passes >= cache.n_trials)).sum())
        settled = int(cache.cached.sum())
        too_few = int((cache.n_trials < cache.min_trials).sum())
        days.append(
            CacheDay(
                day=on,
                share_cached=float(cache.cached.mean()),
                n_settled_pass=settled_pass,
                n_settled_fail=settled - settled_pass,
                n_unsettled=len(cache.question_ids) - settled - too_few,
                n_too_few=too_few,
            )
        )
    return CacheWindow(
        n_days=rule.days, min_trials=rule.min_trials, epsilon=rule.epsilon, days=tuple(days)
    )


def flagged_questions(night: NightData) -> FlaggedQuestions:
    """Flag questions whose verdicts carry little or keep changing in the calibration window.

    A question is flaky when, over runs in time order, its verdict flips between
    neighbours nearly as often as a coin would.
    """
    matrix = night.matrix
    if matrix is None:
        return FlaggedQuestions()
    flags: list[QuestionFlag] = []
    passes = matrix.passes.sum(axis=0)
    trials = matrix.trials.sum(axis=0)
    answered = (matrix.trials > 0).sum(axis=0)
    flips = _flip_shares(matrix)
    for j, question in enumerate(matrix.question_ids):
        found: list[tuple[FlagKind, str]] = []
        if answered[j] < FEW_RESPONSES:
            found.append(("few-responses", f"only {answered[j]} runs have a valid verdict on it"))
        elif passes[j] == trials[j]:
            found.append(("all-pass", "every trial passed: it no longer tells runs apart"))
        elif passes[j] == 0:
            found.append(("all-fail", "no trial passed: hard, or broken"))
        elif flips[j] > FLAKY_SHARE and answered[j] >= MIN_FLAKY_TRIALS:
            share = f"{100 * flips[j]:.0f}%"
            found.append(
                ("flaky", f"its verdict changes between neighbouring runs {share} of the time")
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
    return FlaggedQuestions(flags=tuple(flags))


def _flip_shares(matrix: ResponseMatrix) -> np.ndarray:
    """Share of neighbouring answered runs whose majority verdict differs, shape (n,)."""
    shares = np.zeros(matrix.n_questions)
    majority = 2 * matrix.passes >= matrix.trials
    for j in range(matrix.n_questions):
        seen = majority[matrix.trials[:, j] > 0, j]
        if len(seen) > 1:
            shares[j] = np.mean(seen[1:] != seen[:-1])
    return shares
