"""A benchmark's stored verdicts under its own rules: what counts as a fail, the level, the cache.

Every figure of a benchmark is counted here, whoever asks for it: a night, an estimate, a
check, a session, a replay, a report page or `status`. A caller holds a view and cannot leave
out a rule that the settings set.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from jobs.app.config import BenchmarkSettings
from recurring_eval.records import Run, RunLog, ScoredRun
from recurring_eval.response_matrix import ResponseMatrix
from storage.file.history import History
from storage.runs.benchmarks import bank_by_version
from storage.runs.verdicts import load_matrix
from storage.sessions import SessionStep


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkView:
    """One benchmark with its rules; it reads from any open history and outlives it.

    Attributes
    ----------
    benchmark : str
    settings : BenchmarkSettings
        The benchmark's own over the defaults.
    """

    benchmark: str
    settings: BenchmarkSettings

    @property
    def level(self) -> float:
        """Nominal coverage of intervals."""
        return self.settings.level

    @property
    def failing_reasons(self) -> tuple[str, ...]:
        """Reasons for which a missing verdict counts as a fail, sorted."""
        return tuple(sorted(r for r, rule in self.settings.missing.items() if rule == "fail"))

    def is_fail(self, reason: str) -> bool:
        """Whether a verdict that is missing for a reason counts as a fail.

        What the reason has after a colon is its detail and does not matter.
        """
        return reason.partition(":")[0] in self.failing_reasons

    def matrix(
        self,
        history: History,
        runs: Sequence[Run],
        question_ids: Sequence[str],
        *,
        bank_version: str | None = None,
    ) -> ResponseMatrix:
        """Count passes and trials of stored runs.

        Parameters
        ----------
        history : History
        runs : sequence of Run
            Rows, in this order.
        question_ids : sequence of str
            Columns, in this order.
        bank_version : str, optional
            Version whose question is meant where the content of one changed; the
            current one by default.
        """
        return load_matrix(
            history,
            runs,
            question_ids,
            bank_version=bank_version,
            missing_as_fail=self.failing_reasons,
        )

    def scored(self, history: History, runs: Sequence[Run]) -> list[ScoredRun]:
        """Score stored runs, each on the bank version it was imported into, in their order."""
        if not self.failing_reasons:
            # What is stored with a run was counted with missing verdicts left out.
            return [_scored(run, run.pass_rate, run.n_valid) for run in runs]
        by_version: dict[str, list[Run]] = {}
        for run in runs:
            by_version.setdefault(run.bank_version, []).append(run)
        found: dict[int, ScoredRun] = {}
        for version, group in by_version.items():
            ids = bank_by_version(history, self.benchmark, version).question_ids
            matrix = self.matrix(history, group, ids, bank_version=version)
            n_valid = (matrix.trials > 0).sum(axis=1)
            for run, rate, count in zip(group, matrix.pass_rates(), n_valid, strict=True):
                found[run.run_id] = _scored(run, float(rate), int(count))
        return [found[run.run_id] for run in runs]

    def matrix_of_log(self, log: RunLog, question_ids: Sequence[str]) -> ResponseMatrix:
        """Count passes and trials of a log as one row; the questions include all of the log."""
        passes, trials = log.counts(question_ids, failing=self.failing_reasons)
        return ResponseMatrix(
            passes=passes[np.newaxis],
            trials=trials[np.newaxis],
            run_ids=(log.run_key,),
            question_ids=tuple(question_ids),
            started_at=(log.started_at,),
            agents=(log.agent,),
        )

    def counts_of_steps(self, steps: Iterable[SessionStep]) -> dict[str, tuple[int, int]]:
        """Count passes and trials of each question that a session has an answer for."""
        return {
            step.question_id: (0, 1)
            if not step.trials and self.is_fail(str(step.reason))
            else (step.passes, step.trials)
            for step in steps
        }


def _scored(run: Run, pass_rate: float, n_valid: int) -> ScoredRun:
    return ScoredRun(
        run=run, pass_rate=None if math.isnan(pass_rate) else pass_rate, n_valid=n_valid
    )
