"""Accuracy of the estimates over checked full runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jobs.targets import Target
from storage.checks import FullRunCheck


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


def summarise(rows: Sequence[FullRunCheck], target: Target) -> list[CheckSummary]:
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
