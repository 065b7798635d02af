"""Simulated runs as the logs an importer would read."""

from datetime import timedelta
from typing import Final

import numpy as np

from recurring_eval.records import RunLog, RunPurpose
from recurring_eval.simulate.history import SimulatedHistory
from recurring_eval.simulate.verdicts import MISSING_REASONS

HARNESS: Final = "simulated"
RUN_DURATION: Final = timedelta(hours=3)


def simulated_logs(history: SimulatedHistory, *, benchmark: str) -> list[RunLog]:
    """One log per run, in time order, with every trial of every question.

    Parameters
    ----------
    history : SimulatedHistory
    benchmark : str
        Benchmark the logs name.

    Returns
    -------
    list of RunLog
        Trial numbers start at 1; durations and costs are unknown.
    """
    n, n_trials = history.matrix.n_questions, history.options.n_trials
    question_index = np.repeat(np.arange(n, dtype=np.int32), n_trials)
    trial = np.tile(np.arange(1, n_trials + 1, dtype=np.int16), n)
    unknown = np.full(question_index.size, np.nan)
    return [
        RunLog(
            run_key=history.matrix.run_ids[row],
            benchmark=benchmark,
            agent=history.matrix.agents[row],
            agent_config=history.config_keys[row],
            agent_family=history.families[row],
            purpose=RunPurpose.ROUTINE if history.is_routine[row] else RunPurpose.EXPERIMENT,
            started_at=history.matrix.started_at[row],
            finished_at=history.matrix.started_at[row] + RUN_DURATION,
            harness=HARNESS,
            question_ids=history.matrix.question_ids,
            content_hashes=("",) * n,
            question_index=question_index,
            trial=trial,
            outcome=history.verdicts.outcome[row].ravel(),
            reasons=MISSING_REASONS,
            reason_index=history.verdicts.reason[row].ravel().astype(np.int16),
            duration_s=unknown,
            cost=unknown,
        )
        for row in range(history.matrix.n_runs)
    ]
