"""An attempt at a job: under a lease, noted however it ends, and contained."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.app.app import App, start_app
from jobs.app.targets import Target
from jobs.schedule.ledger import RECALIBRATE, JobKey, StopRequested, attempt_job, read_ledger
from recurring_eval.errors import NotEnoughDataError
from storage.file.errors import HistoryError
from storage.ledger import JobRun, JobStatus

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = NOON.date()
KEY = JobKey(job=RECALIBRATE, target=Target(benchmark="b", family="main"))


class Clock:
    at = NOON

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def app(project) -> App:
    return start_app(quiet=True, clock=Clock())


def attempts(app: App) -> list[JobRun]:
    with app.open_history(read_only=True) as history:
        return read_ledger(history).get(KEY, [])


def test_success_is_noted_once_and_settles_the_date(app):
    ended = attempt_job(app, KEY, DAY, lambda attempt: f"attempt {attempt}", owner="a")
    (run,) = attempts(app)
    assert ended == (JobStatus.DONE, f"attempt {run.job_run_id}")
    assert (run.status, run.message) == ended
    assert attempt_job(app, KEY, DAY, lambda _: "again", owner="b") is None
    assert attempt_job(app, KEY, DAY, lambda _: "again", owner="b", done=()) is not None


@pytest.mark.parametrize(
    ("error", "status", "message", "waits"),
    [
        (NotEnoughDataError("too few runs"), JobStatus.KEPT, "too few runs", False),
        (ValueError("bad\nluck"), JobStatus.FAILED, "ValueError: bad luck", True),
    ],
)
def test_an_error_is_contained_and_noted(app, error, status, message, waits):
    def fail(_attempt: int) -> str:
        raise error

    assert attempt_job(app, KEY, DAY, fail, owner="a") == (status, message)
    (run,) = attempts(app)
    assert (run.status, run.message, run.retry_at is not None) == (status, message, waits)


def test_a_request_to_stop_is_noted_and_goes_on(app):
    def stop(_attempt: int) -> str:
        raise StopRequested

    with pytest.raises(StopRequested):
        attempt_job(app, KEY, DAY, stop, owner="a")
    (run,) = attempts(app)
    assert run.message.startswith("stopped by request")
    assert run.retry_at is None


def test_an_end_that_cannot_be_noted_is_a_failure_that_says_both(app):
    def dawdle(_attempt: int) -> str:
        app.clock.at += timedelta(hours=1)
        other = attempt_job(app, KEY, DAY, lambda _: "quick", owner="b")
        assert other == (JobStatus.DONE, "quick")
        raise HistoryError("too slow")

    status, message = attempt_job(app, KEY, DAY, dawdle, owner="a") or (None, "")
    assert status is JobStatus.FAILED
    assert message.startswith("too slow; nor could it be noted in the ledger: a lost its lease")
    assert [run.status for run in attempts(app)] == [JobStatus.DONE, JobStatus.FAILED]
