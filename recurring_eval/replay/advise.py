"""A replay in sentences: how many questions, how wrong at worst, and is it of use."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from recurring_eval.replay.summary import MetricRow
from recurring_eval.response_matrix import ResponseMatrix

HALF_WIDTHS_PP: Final = (2.0, 3.0, 5.0)
USABLE_PP: Final = 5.0
"""Usable: 90% of the estimates are this near."""
GOOD_PP: Final = 3.0
"""... and better this near, where a tried budget gives it."""
USABLE_SHARE: Final = 0.5
"""... while at most this share of the bank is executed."""
TRACKING_SPEARMAN: Final = 0.8
MIN_SOURCE_RUNS: Final = 8
MIN_TARGETS: Final = 8


class Verdict(StrEnum):
    """What partial runs are good for."""

    USABLE = "usable"
    TRACKING_ONLY = "tracking only"
    NOT_USABLE = "not usable"
    TOO_LITTLE_DATA = "too little data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Verdict and sentences of a replay.

    Attributes
    ----------
    verdict : Verdict
    sentences : tuple of str
        Conclusion first.
    method, budget : str
        The row that the conclusion is about, of those that execute at most half of the
        bank: the smallest within `GOOD_PP`, else within `USABLE_PP`, else the one of
        smallest error.
    k_for_pp : dict of float to tuple of (str, int), or to None
        For each half-width the method and smallest k of those tried by which 90 %
        of the estimates were that near; None if none was.
    """

    verdict: Verdict
    sentences: tuple[str, ...]
    method: str
    budget: str
    k_for_pp: dict[float, tuple[str, int] | None]


def advise(
    rows: Sequence[MetricRow], matrix: ResponseMatrix, *, n_source: int, n_targets: int
) -> Advice:
    """Put rows into sentences about the first group, and compare the others with it.

    Parameters
    ----------
    rows : sequence of MetricRow
        At least one; those of the first group come first.
    matrix : ResponseMatrix
    n_source, n_targets : int
        Runs of the smallest calibration, and tested runs.
    """
    first = [row for row in rows if row.group == rows[0].group]
    small = [row for row in first if row.metrics.execution_fraction <= USABLE_SHARE]
    best = (
        _smallest_k(small, GOOD_PP)
        or _smallest_k(small, USABLE_PP)
        or min(small or first, key=lambda row: row.metrics.mae_pp)
    )
    needed = {width: _smallest_k(first, width) for width in HALF_WIDTHS_PP}
    verdict = _verdict(best, small=bool(small), n_source=n_source, n_targets=n_targets)
    return Advice(
        verdict=verdict,
        sentences=(
            _conclusion(verdict, best, n_source=n_source, n_targets=n_targets),
            *(_for_width(width, needed[width], first, matrix.n_questions) for width in needed),
            _worst_run(best, matrix),
            *_other_groups(best, rows),
        ),
        method=best.method,
        budget=best.budget,
        k_for_pp={
            width: None if row is None else (row.method, _executed(row, matrix.n_questions))
            for width, row in needed.items()
        },
    )


def _verdict(best: MetricRow, *, small: bool, n_source: int, n_targets: int) -> Verdict:
    if n_source < MIN_SOURCE_RUNS or n_targets < MIN_TARGETS:
        return Verdict.TOO_LITTLE_DATA
    if small and best.within_90_pp <= USABLE_PP:
        return Verdict.USABLE
    # NaN, where the scores have no order, is not good enough for tracking.
    if best.metrics.spearman >= TRACKING_SPEARMAN:
        return Verdict.TRACKING_ONLY
    return Verdict.NOT_USABLE


def _conclusion(verdict: Verdict, best: MetricRow, *, n_source: int, n_targets: int) -> str:
    what = f"{best.method} and {_questions(best.k)}"
    near = f"90% of the estimates were within {best.within_90_pp:.1f} pp of the full pass rate"
    if verdict is Verdict.TOO_LITTLE_DATA:
        return (
            f"Too little data to decide: {n_source} runs calibrate and {n_targets} are tested, "
            f"and it takes {MIN_SOURCE_RUNS} and {MIN_TARGETS}; the figures are indicative only."
        )
    if verdict is Verdict.USABLE:
        return f"Usable: with {what}, {near}."
    if verdict is Verdict.TRACKING_ONLY:
        return (
            f"Good for tracking only: {what} rank runs much as full runs do "
            f"(Spearman {best.metrics.spearman:.2f}), but {near}; "
            "do not quote the figure as the score."
        )
    return (
        f"Not usable at the budgets tried: with {what}, {near}, "
        "and runs are not ranked reliably; try more questions."
    )


def _smallest_k(rows: Sequence[MetricRow], width_pp: float) -> MetricRow | None:
    near = [row for row in rows if row.within_90_pp <= width_pp]
    return min(
        near,
        key=lambda row: (row.metrics.execution_fraction, row.within_90_pp),
        default=None,
    )


def _for_width(
    width_pp: float, row: MetricRow | None, rows: Sequence[MetricRow], n_questions: int
) -> str:
    if row is None:
        most = max(_executed(other, n_questions) for other in rows)
        return f"For ±{width_pp:g} pp: none of the budgets tried is enough (up to {most})."
    executed = _executed(row, n_questions)
    return (
        f"For ±{width_pp:g} pp: {_questions(executed)} of {n_questions} with {row.method} "
        f"(90% of the estimates within {row.within_90_pp:.1f} pp)."
    )


def _executed(row: MetricRow, n_questions: int) -> int:
    """Questions asked; for a method that decides itself, those it executed on average."""
    return round(row.metrics.execution_fraction * n_questions) if row.decides_budget else row.k


def _worst_run(best: MetricRow, matrix: ResponseMatrix) -> str:
    targets = best.targets
    worst = int(np.nanargmax(np.abs(targets.worst_error_pp)))
    error = targets.worst_error_pp[worst]
    truth = 100.0 * targets.full_pass_rate[worst]
    return (
        f"Worst run with {best.method} and {_questions(best.k)}: "
        f"{matrix.run_ids[targets.rows[worst]]}, estimated {truth + error:.1f}%, "
        f"in full {truth:.1f}% ({error:+.1f} pp)."
    )


def _other_groups(best: MetricRow, rows: Sequence[MetricRow]) -> list[str]:
    same = [row for row in rows if (row.method, row.budget) == (best.method, best.budget)]
    if len(same) < 2:
        return []
    errors = ", ".join(f"{row.group} {row.metrics.mae_pp:.2f} pp" for row in same)
    return [f"Mean error of {best.method} with {_questions(best.k)}: {errors}."]


def _questions(count: int) -> str:
    return "1 question" if count == 1 else f"{count} questions"
