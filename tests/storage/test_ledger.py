"""Alerts, the ledger of jobs, and the history in numbers."""

from datetime import date, timedelta

import pytest

from recurring_eval.errors import InputError
from recurring_eval.records import RunPurpose
from storage.file.history import History
from storage.ledger import (
    AlertState,
    JobStatus,
    finish_job,
    list_alerts,
    list_job_runs,
    open_alert,
    take_lease,
)
from storage.runs.benchmarks import agent_families, overview
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, bank, days, log

NIGHT = date(2026, 3, 1)
JOB = {"job": "recalibrate", "benchmark": BENCHMARK, "family": "main", "date": NIGHT}


def test_every_attempt_of_a_job_is_kept(history: History) -> None:
    endings = (JobStatus.FAILED, JobStatus.KEPT, JobStatus.DONE)
    for number, status in enumerate(endings):
        now = NOW + timedelta(minutes=number)
        with history.transaction():
            attempt = take_lease(history, **JOB, owner="a", now=now, lease_for=days(1))
        assert list_job_runs(history)[0].status is JobStatus.RUNNING
        with history.transaction():
            finish_job(history, attempt, status=status, message=f"m{number}", now=now + days(1))
    ledger = list_job_runs(history)
    assert [(run.attempt, run.status, run.message) for run in ledger] == [
        (3, JobStatus.DONE, "m2"),
        (2, JobStatus.KEPT, "m1"),
        (1, JobStatus.FAILED, "m0"),
    ]
    assert ledger[0].date == NIGHT
    assert ledger[0].finished_at == NOW + timedelta(minutes=2) + days(1)
    with history.transaction(), pytest.raises(InputError, match="no running attempt"):
        finish_job(history, ledger[0].job_run_id, status=JobStatus.DONE, message="", now=NOW)


def test_ledger_is_narrowed_by_benchmark_job_and_number(history: History) -> None:
    entries = [("recalibrate", BENCHMARK), ("report", ""), ("recalibrate", "other")]
    for job, benchmark in entries:
        with history.transaction():
            attempt = {"job": job, "benchmark": benchmark, "family": "", "date": NIGHT}
            take_lease(history, **attempt, owner="a", now=NOW, lease_for=days(1))
    assert [run.job for run in list_job_runs(history, benchmark=BENCHMARK)] == [
        "report",
        "recalibrate",
    ]
    assert len(list_job_runs(history, job="recalibrate")) == 2
    assert len(list_job_runs(history, limit=1)) == 1


def test_one_alert_is_open_per_incident(history: History) -> None:
    def alert(subject: str, message: str) -> int:
        with history.transaction():
            return open_alert(
                history,
                benchmark=BENCHMARK,
                family="main",
                rule="full-run-check",
                subject=subject,
                message=message,
                now=NOW,
            )

    first = alert("stratified", "error 9 pp")
    assert alert("stratified", "error 10 pp") == first
    assert alert("cache", "error 8 pp") != first
    alerts = list_alerts(history, BENCHMARK)
    assert [(a.subject, a.message, a.state, a.opened_at) for a in alerts] == [
        ("stratified", "error 9 pp", AlertState.OPEN, NOW),
        ("cache", "error 8 pp", AlertState.OPEN, NOW),
    ]
    with history.transaction():
        history.execute("UPDATE alert SET state = 'resolved' WHERE alert_id = ?", [first])
    assert [a.subject for a in list_alerts(history)] == ["cache"]
    assert len(list_alerts(history, resolved=True)) == 2
    assert alert("stratified", "again") != first


def test_overview_counts_what_is_stored(history: History) -> None:
    assert overview(history)[0].last_started_at is None
    logs = [
        log("full", dict.fromkeys(QUESTIONS, 1), started_at=START + days(2)),
        log("thin", {"q01": 1, "q02": "error", "q03": "timeout"}, agent_family="small"),
        log("part", {"q01": "error"}, subset_id="s", purpose=RunPurpose.CANDIDATE),
    ]
    with history.transaction():
        write_runs(history, BENCHMARK, logs, imported_at=NOW)
    (numbers,) = overview(history)
    assert numbers.benchmark == BENCHMARK
    assert (numbers.bank_version, numbers.n_questions) == (bank().version, 10)
    assert (numbers.n_runs, numbers.n_full_runs, numbers.n_under_covered) == (3, 2, 1)
    assert (numbers.n_verdicts, numbers.n_missing) == (14, 3)
    assert numbers.missing_by_reason == {"error": 2, "timeout": 1}
    assert (numbers.first_started_at, numbers.last_started_at) == (START, START + days(2))
    assert numbers.last_imported_at == NOW
    assert numbers.families == ("main", "small")
    assert agent_families(history, BENCHMARK) == ["main", "small"]
