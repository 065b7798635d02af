"""Runs and verdicts come back exactly as they went in."""

import dataclasses

import numpy as np

from recurring_eval.records import FAIL, PASS, RunKind, RunLog, RunPurpose
from storage.history import History
from storage.runs import find_run, write_runs
from storage.verdicts import load_log
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, bank, days, log

RICH = log(
    "2026-02-01/coder",
    [
        ("q03", 1, PASS),
        ("q01", 2, FAIL),
        ("q01", 1, PASS),
        ("q02", 1, "timeout"),
        ("q05", 1, "error"),
    ],
    agent_config="cfg-1",
    agent_family="small",
    purpose=RunPurpose.CANDIDATE,
    finished_at=START + days(0.1),
    tags=("nightly", "gpu"),
    subset_id="s-1",
    duration_s=np.array([1.25, np.nan, 0.1, 3.0, np.nan]),
    cost=np.array([0.1, 0.2, np.nan, 1 / 3, 0.0]),
)


def write(history: History, *logs: RunLog, replace: bool = False) -> list[tuple[str, int]]:
    with history.transaction():
        written = write_runs(history, BENCHMARK, logs, imported_at=NOW, replace=replace)
    return [(run.status, run.n_new_verdicts) for run in written]


def verdicts_of(run_log: RunLog) -> set[tuple[object, ...]]:
    """Rows of a log as comparable values."""
    reasons = (*run_log.reasons, "")
    return {
        (
            run_log.question_ids[question],
            int(trial),
            int(outcome),
            reasons[reason],
            repr(float(duration)),
            repr(float(cost)),
        )
        for question, trial, outcome, reason, duration, cost in zip(
            run_log.question_index,
            run_log.trial,
            run_log.outcome,
            run_log.reason_index,
            run_log.duration_s,
            run_log.cost,
            strict=True,
        )
    }


def test_run_read_after_reopening_equals_what_was_written(history: History) -> None:
    write(history, RICH)
    history.close()
    with History.open(history.path, read_only=True) as reopened:
        run = find_run(reopened, RICH.run_key)
        stored = load_log(reopened, run)
    same = [f.name for f in dataclasses.fields(RunLog) if not f.name.endswith(("index", "ids"))]
    for name in set(same) - {"trial", "outcome", "reasons", "duration_s", "cost", "content_hashes"}:
        assert getattr(stored, name) == getattr(RICH, name), name
    assert verdicts_of(stored) == verdicts_of(RICH)
    assert run.kind is RunKind.PARTIAL
    assert (run.n_verdicts, run.n_valid, run.n_missing) == (5, 2, 2)
    assert run.pass_rate == (1.0 + 0.5) / 2
    assert run.bank_version == bank().version
    assert run.bank_size == len(QUESTIONS)
    assert run.imported_at == NOW
