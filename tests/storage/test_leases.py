"""Leases of jobs: one worker at a time, and nobody's crash blocks a night."""

from datetime import date, timedelta

import pytest

from storage.file.errors import HistoryError
from storage.file.history import History
from storage.ledger import (
    JobStatus,
    beat,
    due_retry,
    expired_leases,
    finish_job,
    last_beat,
    list_job_runs,
    renew_lease,
    require_lease,
    start_job,
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
    for call in (renew_lease, require_lease):
        more = {} if call is require_lease else {"now": NOW, "lease_for": HOUR}
        with history.transaction(), pytest.raises(HistoryError, match="a lost its lease"):
            call(history, first, owner="a", **more)


def test_renewed_lease_lasts(history: History) -> None:
    first = take(history, "a")
    with history.transaction():
        renew_lease(history, first, owner="a", now=NOW + HOUR / 2, lease_for=HOUR)
        require_lease(history, first, owner="a")
    assert take(history, "b", after=HOUR) is None
    assert expired_leases(history, now=NOW + HOUR) == []
    assert expired_leases(history, now=NOW + 2 * HOUR) == [
        ("recalibrate", BENCHMARK, "main", NIGHT)
    ]


def test_own_lease_and_one_without_an_end_are_taken_over(history: History) -> None:
    with history.transaction():
        start_job(history, **JOB, now=NOW)
    assert take(history, "a") is not None
    assert take(history, "a") is not None
    assert [run.status for run in list_job_runs(history)] == ["running", "failed", "failed"]


def test_lease_of_a_clock_that_ran_ahead_does_not_block_for_ever(history: History) -> None:
    take(history, "a", after=days(3000))
    assert take(history, "b") is not None
    former = list_job_runs(history)[0]
    assert former.finished_at is not None
    assert former.finished_at >= former.started_at


def test_retry_is_due_at_its_time_and_only_after_a_failure(history: History) -> None:
    def due(after: timedelta) -> bool:
        return due_retry(history, *JOB.values(), now=NOW + after)

    assert not due(days(1))
    attempt = take(history, "a")
    assert not due(days(1))
    with history.transaction():
        finish_job(
            history,
            attempt,
            status=JobStatus.FAILED,
            message="disk full",
            now=NOW,
            owner="a",
            retry_at=NOW + HOUR,
        )
    assert not due(HOUR - timedelta(seconds=1))
    assert due(HOUR)
    assert list_job_runs(history)[0].retry_at == NOW + HOUR
    second = take(history, "a", after=HOUR)
    with history.transaction():
        finish_job(history, second, status=JobStatus.DONE, message="", now=NOW + HOUR)
    assert not due(days(1))


def test_heartbeats_are_kept_by_process(history: History) -> None:
    assert last_beat(history, "scheduler") is None
    for minutes in range(3):
        with history.transaction():
            beat(history, "scheduler", now=NOW + timedelta(minutes=minutes))
    assert last_beat(history, "scheduler") == NOW + timedelta(minutes=2)
    assert last_beat(history, "other") is None
