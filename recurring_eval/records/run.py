"""Runs and their verdicts as they travel between importers, storage and jobs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError

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

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "RunLog":
        """Log with some of the verdicts, given by a mask or by positions."""
        return replace(
            self,
            question_index=self.question_index[rows],
            trial=self.trial[rows],
            outcome=self.outcome[rows],
            reason_index=self.reason_index[rows],
            duration_s=self.duration_s[rows],
            cost=self.cost[rows],
        )

    def within(self, questions: Collection[str]) -> "RunLog":
        """Log with the verdicts on some questions alone."""
        is_kept = np.array([question in questions for question in self.question_ids], np.bool_)
        return self.take(is_kept[self.question_index])

    def joined(self, other: "RunLog") -> "RunLog":
        """Join another part of the same run, with questions of its own.

        What describes the run is that of this part, except for start and end.

        Raises
        ------
        InputError
            If the parts are marked with different subsets.
        """
        if self.subset_id != other.subset_id:
            raise InputError(f"run {self.run_key!r} is marked with several subsets")
        reasons = tuple(dict.fromkeys((*self.reasons, *other.reasons)))
        position = np.array([*map(reasons.index, other.reasons), -1], dtype=np.int16)
        ends = [part.finished_at for part in (self, other) if part.finished_at is not None]
        return replace(
            self,
            started_at=min(self.started_at, other.started_at),
            finished_at=max(ends, default=None),
            question_ids=(*self.question_ids, *other.question_ids),
            content_hashes=(*self.content_hashes, *other.content_hashes),
            question_index=np.concatenate(
                [self.question_index, other.question_index + np.int32(len(self.question_ids))]
            ),
            trial=np.concatenate([self.trial, other.trial]),
            outcome=np.concatenate([self.outcome, other.outcome]),
            reasons=reasons,
            reason_index=np.concatenate([self.reason_index, position[other.reason_index]]),
            duration_s=np.concatenate([self.duration_s, other.duration_s]),
            cost=np.concatenate([self.cost, other.cost]),
        )

    def counts(
        self, question_ids: Sequence[str], *, failing: Collection[str] = ()
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Count passes and valid trials by question.

        Parameters
        ----------
        question_ids : sequence of str
            Includes every question of the log, length n.
        failing : collection of str
            Reasons, without their detail after a colon, for which a missing verdict counts
            as a failed trial.

        Returns
        -------
        passes, trials : ndarray of int16, shape (n,)
        """
        position = {question: j for j, question in enumerate(question_ids)}
        columns = np.array([position[question] for question in self.question_ids], np.intp)
        column = columns[self.question_index]
        is_fail = [reason.partition(":")[0] in failing for reason in self.reasons]
        counted = (self.outcome != MISSING) | np.array([*is_fail, False])[self.reason_index]
        passes = np.zeros(len(question_ids), dtype=np.int16)
        trials = np.zeros_like(passes)
        np.add.at(passes, column[self.outcome == PASS], 1)
        np.add.at(trials, column[counted], 1)
        return passes, trials


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
