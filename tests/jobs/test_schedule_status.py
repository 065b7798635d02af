"""`status`: next runs, last results, overdue nights and full runs, signs of life."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.app.app import App, start_app
from jobs.app.targets import Target
from jobs.schedule.ledger import RECALIBRATE, JobKey, end_attempt, take_attempt
from jobs.upkeep.status import describe_scheduler, describe_status, scheduler_state, show_status
from storage.ledger import JobStatus, beat
from tests.jobs.small_benchmarks import import_benchmarks

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
KEY = JobKey(job=RECALIBRATE, target=Target(benchmark="b", family="main"))


class Clock:
    at = NOON

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def app(project):
    with (project / "recurring-eval.toml").open("a") as file:
        file.write("\n[benchmark.b.schedule]\nfull_run_every = '7d'\nattempts = 2\n")
    import_benchmarks(project, "b", n_runs=2, last=NOON.date())
    return start_app(quiet=True, clock=Clock())


def attempt(app: App, status: JobStatus, message: str = "", *, days: int = 0) -> None:
    day = (app.clock.now() + days * DAY).date()
    number = take_attempt(app, KEY, day, owner="a")
    assert number is not None
    end_attempt(app, KEY, number, owner="a", status=status, message=message)


def lines(app: App) -> str:
    return "\n".join(describe_status(show_status(app)))


def test_before_the_first_night_it_is_due_and_the_next_is_told(app):
    (state,) = show_status(app)
    assert state.schedule.due == ("2026-11-20",)
    assert state.schedule.next_night_at == datetime(2026, 11, 21, 2, tzinfo=UTC)
    assert state.schedule.alert is None
    assert "overdue: 2026-11-20; a running `recurring-eval schedule`" in lines(app)


def test_after_success_nothing_is_late(app):
    attempt(app, JobStatus.DONE, "8 runs")
    text = lines(app)
    assert "overdue" not in text
    assert "last nightly job 2026-11-20 done: 8 runs" in text
    assert "next night 2026-11-21 02:00 UTC" in text
    assert "full run planned: 2026-11-27 09:00 UTC" in text


def test_missed_nights_the_alert_and_the_overdue_full_run_are_told(app):
    attempt(app, JobStatus.DONE)
    app.clock.at = NOON + 9 * DAY
    text = lines(app)
    assert "ALERT: no recalibration for 216 h; last attempt 2026-11-20 done" in text
    assert "overdue: 2026-11-21 to 2026-11-29, 9 nights" in text
    assert "full run overdue: 2026-11-27 09:00 UTC" in text
    app.clock.at = NOON + 100 * DAY
    (state,) = show_status(app)
    assert (state.schedule.n_forgone, len(state.schedule.due)) == (69, 31)


def test_a_failed_night_waits_and_is_given_up(app):
    attempt(app, JobStatus.FAILED, "no luck")
    assert "next attempt 2026-11-20 12:10 UTC after 1 failure" in lines(app)
    app.clock.at = NOON + 10 * timedelta(minutes=1)
    attempt(app, JobStatus.FAILED, "no luck")
    text = lines(app)
    assert "given up after too many failures: 2026-11-20; `recurring-eval recalibrate" in text
    assert "next attempt" not in text
    assert "last nightly job 2026-11-20 failed: no luck" in text


def test_a_night_at_work_is_told(app):
    assert take_attempt(app, KEY, NOON.date(), owner="a") is not None
    assert "at work on 2026-11-20" in lines(app)


def test_signs_of_life_age(app):
    now = app.clock.now()
    state = scheduler_state(app)
    assert not state.alive
    assert "no sign of life yet" in describe_scheduler(state, now)
    with app.open_history() as history, history.transaction():
        beat(history, "schedule", now=now)
    later = replace(app, clock=type("C", (), {"now": lambda self: now + 3 * HOUR})())
    assert scheduler_state(app).alive
    assert not scheduler_state(later).alive
    told = describe_scheduler(scheduler_state(later), later.clock.now())
    assert told == "scheduler: not at work, last sign of life 2026-11-20 12:00 UTC, 3 h ago"
