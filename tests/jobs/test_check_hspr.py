"""Full runs against what step-by-step methods would have said of them."""

import numpy as np
import pytest

from jobs.randomness import generator
from recurring_eval.methods.registry import method_named
from recurring_eval.methods.session import Session
from storage.file.history import History
from tests.jobs.command_line import invoke
from tests.jobs.histories import SIZES, command, covered, latest_night, pass_matrix

CATS = ("rasch-cat", "mirt-cat")


def by_method(folder, *arguments, method="hspr"):
    rows = command(folder, "check", "--json", *arguments).document["rows"]
    return [row for row in rows if row["method"] == method]


@pytest.mark.parametrize("method", ["hspr", *CATS])
def test_estimates_are_those_of_a_session_told_the_runs_verdicts(calibrated, method):
    row_of = {row["k"]: row for row in by_method(calibrated, "last-full", method=method)}
    assert set(row_of) == set(SIZES)
    (run,) = {row["run_id"] for row in row_of.values()}
    verdicts = pass_matrix(calibrated).loc[run]
    fitted = latest_night(calibrated).fitted
    session = Session.start(
        method_named(method),
        fitted,
        k=fitted.n_questions,
        rng=generator(0, "check", method, run),
    )
    valid = verdicts[list(fitted.question_ids)].notna().to_numpy()
    for k in SIZES:
        while session.n_valid < k:
            (question,) = session.ask()
            known = not np.isnan(verdicts[question])
            session = session.tell({question: (int(known and verdicts[question]), int(known))})
        row = row_of[k]
        assert row["estimate"] == pytest.approx(session.score(valid).pass_rate[0], abs=1e-12)
        assert row["full_pass_rate"] == pytest.approx(verdicts.mean())
        assert row["error_pp"] == pytest.approx(100 * (row["estimate"] - verdicts.mean()))
        passed = sum(verdicts[list(session.asked)].dropna())
        assert passed / valid.sum() <= row["low"] <= row["high"]
        assert row["high"] <= (passed + valid.sum() - k) / valid.sum() + 1e-12


def test_it_is_closer_than_guessing_the_mean_of_the_calibration(calibrated):
    rows = by_method(calibrated)
    scores = covered(pass_matrix(calibrated)).mean(axis=1)
    guess = scores[list(latest_night(calibrated).fitted.rasch.run_ids)].mean()
    runs = sorted({row["run_id"] for row in rows})
    guessed = np.mean([abs(scores[run] - guess) for run in runs])
    errors = {k: [abs(r["error_pp"]) / 100 for r in rows if r["k"] == k] for k in SIZES}
    assert all(np.mean(errors[k]) < guessed for k in SIZES)
    assert np.mean(errors[40]) < np.mean(errors[20]) + 0.005


def test_no_published_subset_is_needed(checkable):
    with History.open(checkable / "history.duckdb") as history:
        with history.transaction():
            history.execute("DELETE FROM subset")
        history.checkpoint()
    document = command(checkable, "check", "--json").document
    assert {row["method"] for row in document["rows"]} == {"hspr", *CATS}
    assert {(entry["method"], entry["k"]) for entry in document["summary"]} == {
        (method, k) for method in ("hspr", *CATS) for k in SIZES
    }


def test_progress_goes_to_stderr_alone(calibrated):
    outcome = invoke("check", "--json")
    n_runs = len({row["run_id"] for row in outcome.document["rows"]})
    told = [line for line in outcome.err.splitlines() if line.startswith("checking full run ")]
    assert told[0] == f"checking full run 1 of {n_runs}"
    assert len(told) == -(-n_runs // 10)
    assert invoke("check", "last-full", "--quiet").err == ""


def test_a_calibration_without_sources_leaves_it_out(imported):
    config = imported / "recurring-eval.toml"
    config.write_text(config.read_text() + "hspr = 'off'\n")
    command(imported, "recalibrate", "--as-of", "2025-03-12", "--no-report")
    rows = command(imported, "check", "--json").document["rows"]
    assert {row["method"] for row in rows} == {"stratified+gpirt", "stratified+weighted", *CATS}
