"""Runs and their verdicts as they travel between importers, storage and jobs."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

PASS: Final = 1
FAIL: Final = 0
MISSING: Final = -1

FULL_RUN_MIN_VALID: Final = 0.8
"""A FULL run with a smaller share of valid questions is under-covered."""


class RunKind(StrEnum):
    """What was asked of a run, not what came back."""

    FULL = "full"
    PARTIAL = "partial"
    ADAPTIVE = "adaptive"


class RunPurpose(StrEnum):
    """Why a run was made; only routine runs feed the cache and drift."""

    ROUTINE = "routine"
    CANDIDATE = "candidate"
    EXPERIMENT = "experiment"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """One run as read from a log, before it is stored.

    Attributes
    ----------
    run_key : str
        The log's own identity of the run, unique within a benchmark.
    benchmark : str or None
        Benchmark named by the log, if any.
    agent, agent_config : str
        Agent name and fingerprint of its configuration (may be empty).
    agent_family : str
    purpose : RunPurpose
    started_at : datetime
        Aware, UTC.
    finished_at : datetime or None
    harness : str
        Name of the harness that wrote the log.
    tags : tuple of str
    subset_id, session_id : str or None
        The selection the run was asked to execute, when it carries one.
    question_ids : tuple of str
        The distinct questions the log mentions, length q.
    content_hashes : tuple of str
        Aligned with `question_ids`; empty strings where the log has none.
    question_index : ndarray of int32, shape (n_verdicts,)
        Row -> position in `question_ids`.
    trial : ndarray of int16, shape (n_verdicts,)
        Trial number, from 1; (question, trial) is unique.
    outcome : ndarray of int8, shape (n_verdicts,)
        PASS, FAIL or MISSING.
    reasons : tuple of str
        Distinct reasons for missing verdicts.
    reason_index : ndarray of int16, shape (n_verdicts,)
        Row -> position in `reasons`, -1 for a valid verdict.
    duration_s, cost : ndarray of float64, shape (n_verdicts,)
        NaN where unknown.
    """

    run_key: str
    benchmark: str | None
    agent: str
    agent_config: str = ""
    agent_family: str = "main"
    purpose: RunPurpose = RunPurpose.ROUTINE
    started_at: datetime
    finished_at: datetime | None = None
    harness: str
    tags: tuple[str, ...] = ()
    subset_id: str | None = None
    session_id: str | None = None
    question_ids: tuple[str, ...]
    content_hashes: tuple[str, ...]
    question_index: NDArray[np.int32]
    trial: NDArray[np.int16]
    outcome: NDArray[np.int8]
    reasons: tuple[str, ...] = ()
    reason_index: NDArray[np.int16]
    duration_s: NDArray[np.float64]
    cost: NDArray[np.float64]

    @property
    def kind(self) -> RunKind:
        """PARTIAL or ADAPTIVE when a selection was asked for, else FULL."""
        if self.session_id is not None:
            return RunKind.ADAPTIVE
        return RunKind.FULL if self.subset_id is None else RunKind.PARTIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A stored run, without its verdicts.

    `run_id` is the history's integer; `run_key` is what users see. `n_valid`
    counts questions with at least one valid verdict, `pass_rate` is the
    mean over those questions of passes/trials (NaN when there is none).
    """

    run_id: int
    run_key: str
    benchmark: str
    agent: str
    agent_config: str
    agent_family: str
    purpose: RunPurpose
    kind: RunKind
    subset_id: str | None
    session_id: str | None
    started_at: datetime
    finished_at: datetime | None
    imported_at: datetime
    harness: str
    tags: tuple[str, ...]
    n_verdicts: int
    n_valid: int
    n_missing: int
    pass_rate: float
    bank_version: str
    bank_size: int

    @property
    def under_covered(self) -> bool:
        """Whether a FULL run lacks too many verdicts to calibrate or check on."""
        return self.kind is RunKind.FULL and self.n_valid < FULL_RUN_MIN_VALID * self.bank_size


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A stored run and its score under the rules of its benchmark for missing verdicts.

    Attributes
    ----------
    run : Run
    pass_rate : float or None
        Mean over the valid questions of passes/trials; None without one.
    n_valid : int
        Questions with a valid verdict, or with a missing one that counts as a fail.
    """

    run: Run
    pass_rate: float | None
    n_valid: int
