"""`recurring-eval demo`: the whole loop, told truly."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from recurring_eval.simulate import SimulationOptions
from storage.calibrations.subsets import find_subset
from storage.file.history import History
from storage.runs.runs import find_run
from tests.jobs.command_line import invoke, one_error_line
from tests.jobs.histories import start, tables

KEYS = {"report", "history", "runs", "estimate", "full_pass_rate", "error_pp", "seconds"}


@pytest.fixture
def quick(monkeypatch):
    """A demo on a smaller history, its pages unrendered, without step-by-step replays.

    The real demo, which replays hspr as well, is among the benchmarks below.
    """
    monkeypatch.setenv("RECURRING_EVAL_DEFAULTS__HSPR", "off")
    monkeypatch.setattr(
        "jobs.demo.SimulationOptions",
        lambda: SimulationOptions(n_questions=210, runs_per_day=2, experiment_share=0.3),
    )
    monkeypatch.setattr("jobs.pages.nightly.render_nightly", lambda page: "<html></html>")


def test_two_demos_of_a_seed_tell_what_their_histories_hold(folder, quick, monkeypatch):
    # A history named in the environment, and a folder of the default name, stay untouched.
    team = start(folder / "team")
    before = tables(team)
    monkeypatch.setenv("RECURRING_EVAL_HISTORY", str(team / "history.duckdb"))
    monkeypatch.setenv("RECURRING_EVAL_REPORTS", str(team / "reports"))
    (folder / "recurring-eval-demo").mkdir()
    outcome = invoke("demo", "--json")
    assert outcome.code == 0, outcome
    assert tables(team) == before
    assert not (team / "reports").exists()
    assert list((folder / "recurring-eval-demo").iterdir()) == []
    made = folder / "recurring-eval-demo-2"

    document = outcome.document
    assert set(document) == KEYS
    assert document["report"] == str(made / "recurring-eval-reports" / "index.html")
    with History.open(document["history"], read_only=True) as history:
        ((n_runs,),) = history.rows("SELECT count(*) FROM run")
        partial = history.rows("SELECT run_key FROM run WHERE kind = 'partial'")
        run = find_run(history, partial[0][0])
        subset = find_subset(history, run.subset_id or "").subset
        statuses = history.rows("SELECT DISTINCT job, status FROM job_run")
    assert document["runs"] == n_runs
    assert len(partial) == 1
    assert subset.k == 200
    assert statuses == [("recalibrate", "done")]
    full = pd.read_parquet(made / "release" / "candidate-full.parquet")
    verdicts = full.set_index("question_id")["passed"].dropna().astype(float)
    assert document["full_pass_rate"] == pytest.approx(verdicts.mean())
    error = 100 * (document["estimate"] - document["full_pass_rate"])
    assert document["error_pp"] == pytest.approx(error, abs=2.0)
    asked = verdicts[verdicts.index.isin(subset.question_ids)]
    weights = pd.Series(subset.weights, index=list(subset.question_ids))[asked.index]
    assert document["estimate"] == pytest.approx(np.average(asked, weights=weights), abs=0.05)
    assert abs(document["error_pp"]) < 6
    # Three nights, the one after the release, and the index.
    assert len(list((made / "recurring-eval-reports").glob("*.html"))) == 5

    story = invoke("demo", "--dir", "b", "--quiet").out
    assert 8 <= len(story.splitlines()) <= 14
    assert f"full pass rate {100 * document['estimate']:.1f} % (90 % interval" in story
    assert f"the candidate ran in full: {100 * document['full_pass_rate']:.1f} %" in story
    assert f"the estimate off by {document['error_pp']:+.1f} pp" in story
    assert f"handed out {run.subset_id}" in story
    assert str(folder / "b" / "recurring-eval-reports" / "index.html") in story


def test_it_never_writes_into_something_that_is_there(folder):
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("keep me")
    error = one_error_line(invoke("demo", "--dir", "mine"))
    assert "mine is not an empty folder; choose another with --dir" in error
    assert [path.name for path in (folder / "mine").iterdir()] == ["notes.txt"]
    error = one_error_line(invoke("demo", "--dir", "e", "--seed", "-1"))
    assert "`seed` is -1" in error
    assert not (folder / "e").exists()


@pytest.mark.benchmark
def test_the_real_demo_takes_less_than_a_minute(folder):
    done = subprocess.run(
        [sys.executable, "-c", "from jobs.cli import main; main()", "demo", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(done.stdout)
    print(f"demo: {document['seconds']:.1f} s")
    assert document["seconds"] < 60
    assert abs(document["error_pp"]) < 4
    assert "<svg" in next((folder / "recurring-eval-demo").glob("*/*main*.html")).read_text()
