"""Report pages: what a night's page says, against the table and the history."""

import json
from pathlib import Path

import numpy as np
import pytest

from jobs.app.app import start_app
from jobs.app.targets import Target
from jobs.demo import write_long_table
from jobs.pages.nightly import nightly_page
from reports.difficulty import DifficultyMap
from reports.error_against_k import ErrorsByK
from reports.listings import FlaggedQuestions, PublishedSubsets
from reports.run_history import RunHistory
from storage.calibrations.subsets import published_subsets
from tests.jobs.command_line import one_error_line
from tests.jobs.histories import (
    AS_OF,
    BENCHMARK,
    command,
    covered,
    latest_night,
    logs,
    night_of,
    only,
    pass_matrix,
    reading,
    start,
    verdict_table,
)
from tests.reports.sample_page import part

MAIN = Target(benchmark=BENCHMARK, family="main")


def page_of(folder, day=AS_OF, target=MAIN):
    with reading(folder) as history:
        app = start_app(config=folder / "recurring-eval.toml", quiet=True)
        return nightly_page(app, history, target, day)


def seen_until(folder, day):
    starts = verdict_table(folder).groupby("run_id")["day"].first()
    matrix = pass_matrix(folder)
    return matrix[[starts[run] <= day for run in matrix.index]]


@pytest.fixture
def unrendered(monkeypatch):
    """Pages that are cheap to write."""
    monkeypatch.setattr("jobs.pages.nightly.render_nightly", lambda page: f"<p>{page.day}</p>")


def test_the_page_of_a_night_shows_what_was_known_that_night(calibrated):
    page = page_of(calibrated)
    matrix = seen_until(calibrated, AS_OF)
    good = covered(matrix)
    last = page.headline.last_full_run
    assert last is not None
    assert last.run.run_key == good.index[-1]
    assert last.pass_rate == pytest.approx(good.iloc[-1].mean())
    assert page.headline.previous_pass_rate == pytest.approx(good.iloc[-2].mean())
    runs = part(page, RunHistory).runs
    assert [scored.run.run_key for scored in runs] == list(matrix.index)
    rates = [scored.pass_rate for scored in runs]
    np.testing.assert_allclose(rates, matrix.mean(axis=1))
    assert [s.run.run_key for s in runs if s.run.under_covered] == list(
        matrix.index.difference(good.index)
    )
    health = page.headline.health
    assert health.n_full_runs == len(good)
    assert health.n_under_covered == len(matrix) - len(good)
    assert health.valid_share == pytest.approx(matrix.notna().to_numpy().mean())
    n_missing = sum(reason.n_verdicts for reason in health.missing)
    assert n_missing == matrix.isna().to_numpy().sum()


def test_difficulties_subsets_and_flags(calibrated):
    page = page_of(calibrated)
    good = covered(seen_until(calibrated, AS_OF))
    with reading(calibrated) as history:
        subsets = {r.subset.k: r for r in published_subsets(history, BENCHMARK, "main")}
    model = latest_night(calibrated).fitted.rasch
    questions, flags = part(page, DifficultyMap).questions, part(page, FlaggedQuestions).flags
    assert [point.question_id for point in questions] == list(model.question_ids)
    for point, difficulty in zip(questions, model.difficulty, strict=True):
        column = good[point.question_id].dropna()
        assert point.difficulty == difficulty
        assert point.n_responses == len(column)
        assert point.pass_rate == pytest.approx(column.mean())
        assert point.in_subsets == tuple(
            k for k in sorted(subsets) if point.question_id in subsets[k].subset.question_ids
        )
    flagged = {flag.question_id: flag.flag for flag in flags if flag.flag != "flaky"}
    expected = {}
    for question in good:
        column = good[question].dropna()
        if len(column) < 5:
            expected[question] = "few-responses"
        elif column.mean() in (0.0, 1.0):
            expected[question] = "all-pass" if column.mean() else "all-fail"
    assert flagged == expected
    assert expected
    for flag in flags:
        if flag.flag == "flaky":
            column = good[flag.question_id].dropna().to_numpy()
            assert np.mean(column[1:] != column[:-1]) > 0.4
            assert len(column) >= 8
    assert [s.subset_id for s in part(page, PublishedSubsets).subsets] == [
        subsets[k].subset_id for k in sorted(subsets)
    ]


def test_errors_come_from_replay_and_from_checks(checkable):
    page = page_of(checkable)
    points = part(page, ErrorsByK).points
    residuals = latest_night(checkable).residuals
    names = {"stratified+gpirt", "stratified+weighted", "hspr", "rasch-cat", "mirt-cat"}
    assert {(p.source, p.method, p.k) for p in points} == {
        ("replay", name, k) for name in names for k in (20, 40)
    }
    for point in points:
        mine = [r.error for r in residuals if (r.method, r.k) == (point.method, point.k)]
        assert point.mae_pp == pytest.approx(100 * np.mean(np.abs(mine)))
        assert (point.bias_pp, point.n) == (pytest.approx(100 * np.mean(mine)), len(mine))
    assert {error.last_run_error_pp for error in page.headline.errors} == {None}
    document = command(checkable, "check", "--json").document
    # The checked runs are later than this night, so its page knows nothing of them.
    assert part(page_of(checkable), ErrorsByK).points == points
    later = page_of(checkable, night_of(16))
    checks = {(p.method, p.k): p for p in part(later, ErrorsByK).points if p.source == "check"}
    for entry in document["summary"]:
        point = checks[entry["method"], entry["k"]]
        assert (point.mae_pp, point.n) == (pytest.approx(entry["mae_pp"]), entry["n"])
    last = document["rows"][-1]
    (error,) = (e for e in later.headline.errors if (e.method, e.k) == (last["method"], last["k"]))
    assert error.last_run_error_pp == pytest.approx(last["error_pp"])
    assert error.last_run_covered == last["covered"]


def test_partial_runs_stand_beside_full_ones_with_their_estimate(calibrated):
    subset = command(calibrated, "subset", "--k", "20", "--json").document
    asked = set(subset["question_ids"])
    log = only(logs()[-1], asked.__contains__, run_key="p", subset_id=subset["subset_id"])
    write_long_table(calibrated / "p.parquet", [log])
    command(calibrated, "import", "p.parquet")
    given = command(calibrated, "estimate", "p", "--json").document
    page = page_of(calibrated, night_of(16))
    (shown,) = part(page, RunHistory).estimates
    assert (shown.run.run_key, shown.k, shown.estimate.method) == ("p", 20, "stratified+gpirt")
    assert (shown.estimate.low, shown.estimate.pass_rate, shown.estimate.high) == (
        *(given["low"], given["pass_rate"], given["high"]),
    )
    assert part(page_of(calibrated), RunHistory).estimates == ()


def test_recalibrate_writes_a_page_and_report_writes_it_again(imported):
    outcome = command(imported, "recalibrate", "--as-of", str(AS_OF), "--json")
    (path,) = outcome.document["reports"]
    folder = imported / "recurring-eval-reports"
    text = (folder / path.rsplit("/", 1)[1]).read_text()
    assert str(AS_OF) in text
    assert "<svg" in text
    assert "<script" not in text
    assert covered(seen_until(imported, AS_OF)).index[-1] in text
    names = sorted(file.name for file in folder.iterdir())
    assert "index.html" in names
    assert path.rsplit("/", 1)[1] in (folder / "index.html").read_text()
    again = command(imported, "report", "--json").document
    assert again == {"reports": [path], "index": str(folder / "index.html")}
    assert sorted(file.name for file in folder.iterdir()) == names


def test_a_kept_night_without_any_calibration_has_a_page(imported):
    outcome = command(imported, "recalibrate", "--as-of", str(night_of(1)), "--json")
    assert outcome.document["results"][0]["status"] == "kept"
    (path,) = outcome.document["reports"]
    assert "a calibration needs 4" in Path(path).read_text()


def test_each_family_has_its_page_and_the_index_lists_all(folder, unrendered):
    start(folder, logs(n_questions=40, other_families=(14,)))
    results = command(folder, "recalibrate", "--as-of", str(night_of(15)), "--json").document
    assert len(set(results["reports"])) == 2
    command(folder, "recalibrate", "--as-of", str(night_of(16)))
    index = (folder / "recurring-eval-reports" / "index.html").read_text()
    for day in (15, 16):
        assert index.count(f"-{night_of(day)}.html") >= 2
    assert not list((folder / "recurring-eval-reports").glob(".draft*"))


def test_a_night_that_was_done_writes_nothing_again(calibrated, unrendered):
    document = command(calibrated, "recalibrate", "--as-of", str(AS_OF), "--json").document
    assert document["reports"] == []
    assert not (calibrated / "recurring-eval-reports").exists()


def test_a_spoilt_index_entry_is_named(calibrated, unrendered):
    command(calibrated, "report")
    (entry,) = (calibrated / "recurring-eval-reports").glob("*.entry.json")
    fields = json.loads(entry.read_text())
    assert fields["benchmark"] == BENCHMARK
    entry.write_text("{")
    # The entry of the night that is written is written anew; another one stays spoilt.
    command(calibrated, "report")
    other = entry.with_name("other.entry.json")
    other.write_text("{")
    error = one_error_line(command(calibrated, "report", code=1))
    assert f"{other}: cannot be read" in error
    assert "remove it and run `recurring-eval report`" in error


def test_reports_that_cannot_be_written(calibrated):
    (calibrated / "recurring-eval-reports").write_text("a file in the way")
    error = one_error_line(command(calibrated, "report", code=1))
    assert "recurring-eval-reports" in error


def test_a_report_of_an_empty_history(folder):
    start(folder)
    assert "no runs yet; import some" in one_error_line(command(folder, "report", code=1))
