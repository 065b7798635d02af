"""Many benchmarks: one row each, and no failure of one stops another."""

from datetime import UTC, date, datetime, timedelta

import pytest

from jobs.nights import night as night_module
from jobs.pages import nightly as publish_report
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.ledger import JobStatus, list_job_runs, take_lease
from tests.jobs.command_line import invoke
from tests.jobs.small_benchmarks import import_benchmarks

DAY = date(2026, 11, 20)
NAMES = [f"bench-{n:02}" for n in range(30)]
BROKEN = {
    "bench-03": HistoryError("question 7 is damaged"),
    "bench-11": ZeroDivisionError("division\nby zero"),
    "bench-29": MemoryError("too large"),
}


FEW = ["bench-03", "bench-05", "bench-11", "bench-12"]


@pytest.fixture
def broken(monkeypatch):
    load = night_module.load_night

    def load_some(history, target, *args, **kwargs):
        if target.benchmark in BROKEN:
            raise BROKEN[target.benchmark]
        return load(history, target, *args, **kwargs)

    monkeypatch.setattr(night_module, "load_night", load_some)


@pytest.mark.usefixtures("broken")
def test_thirty_benchmarks_of_which_three_are_broken(project, monkeypatch):
    import_benchmarks(project, *NAMES, n_runs=4, last=DAY)
    outcome = invoke("recalibrate", "--as-of", str(DAY), "--no-report", "--json")
    assert outcome.code == 1
    rows = outcome.document["results"]
    assert [row["benchmark"] for row in rows] == NAMES
    assert {row["benchmark"] for row in rows if row["status"] == "failed"} == set(BROKEN)
    assert sum(row["status"] == "calibrated" for row in rows) == 27
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3
    assert "bench-11 (main) 2026-11-20: ZeroDivisionError: division by zero" in errors[1]
    assert "Traceback" not in outcome.err

    with History.open(project / "history.duckdb", read_only=True) as history:
        ledger = list_job_runs(history, job="recalibrate")
    failed = {run.benchmark: run for run in ledger if run.status is JobStatus.FAILED}
    assert set(failed) == set(BROKEN)
    assert failed["bench-03"].message == "question 7 is damaged"
    assert all(run.retry_at is not None for run in failed.values())
    assert sum(run.status is JobStatus.DONE for run in ledger) == 27

    monkeypatch.setitem(BROKEN, "bench-03", HistoryError("still damaged"))
    again = invoke("recalibrate", "--as-of", str(DAY), "--no-report", "--json")
    statuses = [row["status"] for row in again.document["results"]]
    assert (statuses.count("already done"), statuses.count("failed")) == (27, 3)


@pytest.mark.usefixtures("broken")
def test_debugging_shows_where_it_failed_and_goes_on(project, monkeypatch):
    import_benchmarks(project, *FEW, n_runs=4, last=DAY)
    monkeypatch.setenv("RECURRING_EVAL_DEBUG", "1")
    outcome = invoke("recalibrate", "--as-of", str(DAY), "--no-report", "--json")
    assert outcome.code == 1
    assert "ZeroDivisionError: division" in outcome.err
    assert outcome.err.count("Traceback (most recent call last)") == 2
    statuses = [row["status"] for row in outcome.document["results"]]
    assert statuses == ["failed", "calibrated", "failed", "calibrated"]


def test_a_page_that_cannot_be_written_stops_no_other(project, monkeypatch):
    import_benchmarks(project, *FEW, n_runs=4, last=DAY)
    page = publish_report.nightly_page

    def some_pages(app, history, target, day):
        if target.benchmark == "bench-05":
            raise ValueError("no such chart")
        return page(app, history, target, day)

    monkeypatch.setattr(publish_report, "nightly_page", some_pages)
    outcome = invoke("recalibrate", "--as-of", str(DAY), "--json")
    assert outcome.code == 1
    assert "the report of bench-05 (main) for 2026-11-20: ValueError: no such chart" in outcome.err
    pages = (project / "recurring-eval-reports").glob("bench*.html")
    assert {page.name.split("-main-")[0] for page in pages} == {"bench-03", "bench-11", "bench-12"}


def test_a_night_that_another_process_works_on_is_left_alone(project):
    import_benchmarks(project, "b", last=DAY)
    now = datetime.now(UTC)
    with History.open(project / "history.duckdb") as history, history.transaction():
        attempt = take_lease(
            history,
            job="recalibrate",
            benchmark="b",
            family="main",
            date=DAY,
            owner="schedule@elsewhere:1:x",
            now=now,
            lease_for=timedelta(minutes=30),
        )
    assert attempt is not None
    outcome = invoke("recalibrate", "--as-of", str(DAY), "--json")
    (row,) = outcome.document["results"]
    assert (outcome.code, row["status"]) == (0, "running")
    assert row["message"] == "schedule@elsewhere:1:x works on it"
    forced = invoke("recalibrate", "--as-of", str(DAY), "--force", "--json")
    assert forced.document["results"][0]["status"] == "running"


def test_force_does_a_night_again_under_a_new_attempt(project):
    import_benchmarks(project, "b", last=DAY)
    for flags, status in (((), "calibrated"), ((), "already done"), (("--force",), "calibrated")):
        outcome = invoke("recalibrate", "--as-of", str(DAY), "--no-report", "--json", *flags)
        assert outcome.document["results"][0]["status"] == status
    with History.open(project / "history.duckdb", read_only=True) as history:
        ledger = list_job_runs(history, job="recalibrate")
    assert [(run.attempt, run.status) for run in reversed(ledger)] == [
        (1, JobStatus.DONE),
        (2, JobStatus.DONE),
    ]
