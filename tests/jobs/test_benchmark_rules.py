"""Every command and page counts with the rules of the benchmark: missing verdicts and level."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jobs.app.app as app_module
from jobs.app.app import start_app
from jobs.app.targets import Target
from jobs.pages.nightly import nightly_page
from reports.difficulty import DifficultyMap
from reports.listings import FlaggedQuestions
from reports.run_history import RunHistory
from tests.jobs.histories import (
    AS_OF,
    BENCHMARK,
    CONFIG,
    command,
    covered,
    latest_night,
    logs,
    night_of,
    pass_matrix,
    reading,
    start,
    verdict_table,
    without_settings,
)
from tests.reports.sample_page import part

FAILING = ("error", "timeout")
RULES = f"""{CONFIG}level = 0.5

[benchmark.{BENCHMARK}.missing]
error = "fail"
timeout = "fail"
"""
MAIN = Target(benchmark=BENCHMARK, family="main")


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ruled")
    with pytest.MonkeyPatch.context() as patch:
        without_settings(patch)
        start(folder, logs(), config=RULES)
        command(folder, "recalibrate", "--as-of", str(AS_OF), "--no-report")
    return folder


@pytest.fixture
def ruled(_template: Path, folder: Path) -> Path:
    """A project whose benchmark has a level and rules of its own, calibrated on day 10."""
    shutil.copytree(_template, folder, dirs_exist_ok=True)
    return folder


def counted_matrix(folder: Path) -> pd.DataFrame:
    """Passes by run and question with failing reasons as 0, from the imported table."""
    frame = verdict_table(folder)
    kind = frame["error"].str.partition(":")[0]
    frame.loc[frame["passed"].isna() & kind.isin(FAILING), "passed"] = 0.0
    wide = frame.pivot_table(
        index="run_id", columns="question_id", values="passed", dropna=False, aggfunc="mean"
    )
    return wide.loc[list(pass_matrix(folder).index)]


def nights_page(folder: Path, day):
    app = start_app(config=folder / "recurring-eval.toml", quiet=True)
    with reading(folder) as history:
        return nightly_page(app, history, MAIN, day)


def test_one_score_of_the_last_run_wherever_it_is_shown(ruled):
    raw, counted = pass_matrix(ruled), counted_matrix(ruled)
    run = covered(raw).index[-1]
    score = counted.loc[run].mean()
    assert score < raw.loc[run].mean() - 0.005
    shown = f"{100 * score:.1f}"

    (state,) = command(ruled, "status", "--json").document["benchmarks"]
    assert (state["last_full_run"], state["last_pass_rate"]) == (run, pytest.approx(score))
    assert f"UTC: {shown} %" in command(ruled, "status").out

    rows = command(ruled, "check", run, "--json").document["rows"]
    assert {row["run_id"] for row in rows} == {run}
    assert all(row["full_pass_rate"] == pytest.approx(score) for row in rows)

    given = command(ruled, "estimate", run, "--json").document
    assert given["n_passed"] / given["n_valid"] == pytest.approx(score)
    assert given["n_valid"] == counted.loc[run].notna().sum() > raw.loc[run].notna().sum()
    assert (given["level"], tuple(given["missing_as_fail"])) == (0.5, FAILING)

    last = nights_page(ruled, night_of(16)).headline.last_full_run
    assert (last.run.run_key, last.pass_rate) == (run, pytest.approx(score))
    assert last.n_valid == given["n_valid"]

    command(ruled, "recalibrate", "--as-of", str(night_of(16)))
    reports = ruled / "recurring-eval-reports"
    (entry,) = reports.glob("*.entry.json")
    assert json.loads(entry.read_text())["pass_rate"] == pytest.approx(score)
    assert f"{shown}%" in (reports / "index.html").read_text()
    (path,) = reports.glob(f"*-{night_of(16)}.html")
    text = path.read_text()
    assert f'<p class="big">{shown}%</p>' in text


def test_the_pages_questions_are_those_that_were_fitted(ruled):
    page = nights_page(ruled, AS_OF)
    questions = part(page, DifficultyMap).questions
    flags = part(page, FlaggedQuestions).flags
    fitted = list(latest_night(ruled).fitted.rasch.run_ids)
    counted, raw = counted_matrix(ruled).loc[fitted], pass_matrix(ruled).loc[fitted]
    assert [p.n_responses for p in questions] == list(counted.notna().sum())
    np.testing.assert_allclose([point.pass_rate for point in questions], counted.mean(), atol=1e-12)
    assert (counted.notna().sum() > raw.notna().sum()).mean() > 0.5
    constant = {flag.question_id: flag.n_trials for flag in flags if flag.flag.startswith("all-")}
    settled = counted.mean().isin([0.0, 1.0]) & (counted.notna().sum() >= 5)
    assert constant == dict(counted.notna().sum()[settled])
    assert set(constant) != set(raw.columns[raw.mean().isin([0.0, 1.0])])
    for flag in flags:
        column = counted[flag.question_id].dropna().to_numpy()
        assert (flag.n_passes, flag.n_trials) == (column.sum(), len(column))
        assert flag.flag != "flaky" or np.mean(column[1:] != column[:-1]) > 0.4


def test_every_run_of_the_history_is_scored_alike(ruled):
    page = nights_page(ruled, night_of(16))
    counted, runs = counted_matrix(ruled), part(page, RunHistory).runs
    assert [scored.run.run_key for scored in runs] == list(counted.index)
    np.testing.assert_allclose([scored.pass_rate for scored in runs], counted.mean(axis=1))
    assert [scored.n_valid for scored in runs] == list(counted.notna().sum(axis=1))


def test_health_tells_fails_from_what_is_missing(ruled):
    health = nights_page(ruled, night_of(16)).headline.health
    assert {r.reason for r in health.missing if r.counts_as_fail} == set(FAILING)
    assert health.valid_share > 0.9
    missing = sum(r.share for r in health.missing if not r.counts_as_fail)
    assert health.valid_share + missing == pytest.approx(1.0)


def test_intervals_are_named_by_the_configured_level(ruled):
    command(ruled, "check")
    assert nights_page(ruled, night_of(16)).interval_level == 0.5
    (path,) = command(ruled, "recalibrate", "--as-of", str(night_of(16)), "--json").document[
        "reports"
    ]
    text = Path(path).read_text()
    assert "Its 50% interval" in text
    assert "the 50% interval" in text
    assert "(aim: 50%)" in text
    assert "90% interval" not in text


def test_only_the_view_counts_stored_verdicts():
    jobs = Path(app_module.__file__).parents[1]
    callers = {p.name for p in jobs.rglob("*.py") if "load_matrix" in p.read_text()}
    assert callers == {"benchmark_view.py"}
