"""Time left, as each method's finished work has it."""

import pytest

from jobs.app.console import Console
from jobs.replaying.tasks import FoldTask, Progress
from recurring_eval.replay.engine import FoldEstimates


def estimates(*, random: bool) -> list[FoldEstimates]:
    return [FoldEstimates(method="m", seed=0, random=random, fit_cpu_s=1.0, budgets=())]


def test_time_left_weighs_methods_by_what_they_cost() -> None:
    progress = Progress(Console(quiet=True), n_seeds=5, clock=lambda: 0.0)
    slow = [FoldTask(key=(0, i, "slow"), seeds=(0,)) for i in range(3)]
    quick = [FoldTask(key=(0, i, "quick"), seeds=(0,)) for i in range(3)]
    progress.begin([*slow, *quick])
    progress.report(slow[0], estimates(random=False), 10.0)
    progress.report(quick[0], estimates(random=True), 1.0)
    # Left: 2 slow folds of 10 s, 2 quick folds and 4 more seeds of 1 s.
    assert progress.line() == "replayed 2 of 10 folds and seeds, about 26 s left"
    progress.n_jobs = 2
    assert progress.line() == "replayed 2 of 10 folds and seeds, about 13 s left"


def test_progress_is_said_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    progress = Progress(Console(), n_seeds=1, clock=lambda: now)
    tasks = [FoldTask(key=(0, i, "m"), seeds=(0,)) for i in range(60)]
    progress.begin(tasks)
    for task in tasks:
        now += 1.0
        progress.report(task, estimates(random=False), 1.0)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 12
    assert said[0] == "replayed 5 of 60 folds and seeds, about 55 s left"
