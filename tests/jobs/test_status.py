"""`recurring-eval status`: what is stored, how old the models are, how the jobs went."""

from datetime import timedelta

import pytest

from jobs.upkeep.status import describe_status, show_status
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    AS_OF,
    app_on,
    command,
    covered,
    logs,
    night_of,
    pass_matrix,
    start,
    verdict_table,
)


def test_an_empty_history_names_the_next_step(folder):
    start(folder)
    assert command(folder, "status").out.startswith("The history is empty. Next: recurring-eval")
    assert command(folder, "status", "--json").document == {
        "benchmarks": [],
        "scheduler": {"last_heartbeat": None, "alive": False},
    }


def test_the_numbers_are_those_of_the_table(calibrated):
    (state,) = command(calibrated, "status", "--json").document["benchmarks"]
    matrix = pass_matrix(calibrated)
    good = covered(matrix)
    assert state["n_questions"] == matrix.shape[1] == 120
    assert state["n_runs"] == state["n_full_runs"] == len(matrix)
    assert state["n_under_covered"] == len(matrix) - len(good)
    assert state["last_full_run"] == good.index[-1]
    assert state["last_pass_rate"] == pytest.approx(good.iloc[-1].mean())
    starts = verdict_table(calibrated).groupby("run_id")["started_at"].first()
    n = sum(starts[run].date() <= AS_OF for run in good.index)
    assert (state["calibration_date"], state["calibration_runs"]) == (str(AS_OF), n)
    assert state["subset_sizes"] == [20, 40]
    assert state["last_job"].startswith(f"{AS_OF} done: {n} runs")


def test_the_age_of_the_model_runs_with_the_clock(imported):
    command(imported, "recalibrate", "--as-of", str(night_of(5)), "--no-report")
    (made,) = show_status(app_on(imported, night_of(6)))
    assert made.model_age_hours == 0.0  # made later than this clock says: never negative
    from jobs.nights.recalibrate import recalibrate

    recalibrate(app_on(imported, night_of(8), hour=3), as_of=night_of(7))
    (state,) = show_status(app_on(imported, night_of(8) + timedelta(days=1), hour=15))
    assert state.model_age_hours == pytest.approx(36.0)
    assert any("made 36 h ago" in line for line in describe_status([state]))


def test_before_and_after_a_failed_night(imported):
    (line,) = (ln for ln in command(imported, "status").out.splitlines() if "calibrat" in ln)
    assert line.strip() == "not calibrated yet; run `recurring-eval recalibrate`"
    command(imported, "recalibrate", "--as-of", "2025-01-01", "--no-report")
    lines = command(imported, "status").out.splitlines()
    assert lines[0].startswith("bench (main): 120 questions, ")
    assert any(
        "last nightly job 2025-01-01 kept: no full run of bench (main)" in ln for ln in lines
    )


def test_families_and_benchmarks_stand_apart(folder):
    start(
        folder,
        [
            *logs(n_questions=30, runs_per_day=1, other_families=(5,)),
            *logs(seed=8, benchmark="second", n_questions=25, runs_per_day=1),
        ],
    )
    states = command(folder, "status", "--json").document["benchmarks"]
    assert len(states) == 3
    assert {(s["benchmark"], s["n_questions"]) for s in states} == {("bench", 30), ("second", 25)}
    other = next(s for s in states if s["agent_family"] != "main")
    assert other["n_runs"] == 5
    only = command(folder, "status", "--benchmark", "second", "--json").document["benchmarks"]
    assert [s["benchmark"] for s in only] == ["second"]
    error = one_error_line(command(folder, "status", "--benchmark", "secnd", code=1))
    assert "second" in error
