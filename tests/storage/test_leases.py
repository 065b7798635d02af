"""Leases of jobs: one worker at a time, and nobody's crash blocks a night."""

from datetime import date, timedelta

import pytest

from storage.file.errors import HistoryError
from storage.file.history import History
from storage.ledger import (
    JobStatus,
    beat,
    expired_leases,
    finish_job,
    last_beat,
    list_job_runs,
    take_lease,
)
from tests.storage.builders import BENCHMARK, NOW, days

NIGHT = date(2026, 3, 1)
JOB = {"job": "recalibrate", "benchmark": BENCHMARK, "family": "main", "date": NIGHT}
HOUR = timedelta(hours=1)


def take(history: History, owner: str, *, after: timedelta = timedelta(), **more: object) -> object:
    with history.transaction():
        return take_lease(
            history, **(JOB | {"owner": owner, "now": NOW + after, "lease_for": HOUR} | more)
        )


def test_only_one_owner_works_on_a_night(history: History) -> None:
    first = take(history, "a")
    assert first is not None
    assert take(history, "b") is None
    assert take(history, "b", date=NIGHT + timedelta(days=1)) is not None
    with history.transaction():
        finish_job(history, first, status=JobStatus.DONE, message="", now=NOW + HOUR / 2, owner="a")
    assert take(history, "b", after=days(9)) is None
    assert take(history, "b", after=days(9), done=()) is not None


def test_expired_lease_is_closed_as_failed_and_taken_over(history: History) -> None:
    first = take(history, "a")
    assert take(history, "b", after=HOUR - timedelta(seconds=1)) is None
    second = take(history, "b", after=HOUR)
    assert second is not None
    latest, former = list_job_runs(history)
    assert (former.status, former.message) == (JobStatus.FAILED, "lease expired")
    assert former.finished_at == NOW + HOUR
    assert (latest.attempt, latest.owner, latest.lease_expires_at) == (2, "b", NOW + 2 * HOUR)
    with history.transaction(), pytest.raises(HistoryError, match="a lost its lease"):
        finish_job(history, first, status=JobStatus.DONE, message="", now=NOW, owner="a")


def test_lease_lasts_until_its_end(history: History) -> None:
    take(history, "a")
    assert expired_leases(history, now=NOW + HOUR - timedelta(seconds=1)) == []
    (run,) = expired_leases(history, now=NOW + HOUR)
    assert (run.job, run.benchmark, run.agent_family, run.date) == (*JOB.values(),)
    assert run.is_held(NOW, HOUR)
    assert not run.is_held(NOW + HOUR, HOUR)


def test_own_lease_and_one_without_an_end_are_taken_over(history: History) -> None:
    take(history, "b")
    with history.transaction():
        history.execute("UPDATE job_run SET owner = NULL, lease_expires_at = NULL")
    assert take(history, "a") is not None
    assert take(history, "a") is not None
    assert [run.status for run in list_job_runs(history)] == ["running", "failed", "failed"]


def test_lease_of_a_clock_that_ran_ahead_does_not_block_for_ever(history: History) -> None:
    take(history, "a", after=days(3000))
    assert take(history, "b") is not None
    former = list_job_runs(history)[0]
    assert former.finished_at is not None
    assert former.finished_at >= former.started_at


def test_time_of_the_retry_is_kept_with_the_failure(history: History) -> None:
    attempt = take(history, "a")
    retry_at = NOW + HOUR
    with history.transaction():
        finish_job(
            history,
            attempt,
            status=JobStatus.FAILED,
            message="disk full",
            now=NOW,
            owner="a",
            retry_at=retry_at,
        )
    assert list_job_runs(history)[0].retry_at == retry_at
    assert take(history, "b", after=timedelta(minutes=1)) is not None


def test_heartbeats_are_kept_by_process(history: History) -> None:
    assert last_beat(history, "scheduler") is None
    for minutes in range(3):
        with history.transaction():
            beat(history, "scheduler", now=NOW + timedelta(minutes=minutes))
    assert last_beat(history, "scheduler") == NOW + timedelta(minutes=2)
    assert last_beat(history, "other") is None
