"""Single troubles, each with the real round of the scheduler on a real history."""

import logging
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from jobs.schedule.ledger import BACKUP, REPORT, StopRequested
from storage.ledger import AlertState, JobStatus, list_alerts
from tests.scheduler_travel.world import Killed, Life, a_world

START = datetime(2027, 3, 10, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def march(*days: int) -> list[date]:
    return [date(2027, 3, day) for day in days]


def stored_days(world) -> list[date]:
    return [day for _, day in world.stored]


def test_a_sleep_of_60_hours_is_made_up_for_once(tmp_path):
    with a_world(tmp_path, START) as world:
        worker = world.worker()
        worker.round()
        world.clock.at += 60 * HOUR
        worker.round()
        worker.round()
        assert stored_days(world) == march(10, 11, 12)
        world.clock.at += 2 * HOUR + timedelta(minutes=1)
        worker.round()
        assert stored_days(world) == march(10, 11, 12, 13)


def test_of_two_schedulers_one_does_the_night(tmp_path):
    with a_world(tmp_path, START) as world:
        one, other = world.worker(), world.worker()
        world.hook = lambda night, owner: other.round()
        assert one.round()
        assert stored_days(world) == march(10)
        assert len(world.ledger()) == 1


def test_one_that_is_slower_than_its_lease_stores_nothing(tmp_path, caplog):
    with a_world(tmp_path, START) as world:
        slow, other = world.worker(), world.worker()

        def dawdle(night, owner) -> None:
            if owner == slow.owner:
                world.clock.at += timedelta(minutes=31)
                other.round()

        world.hook = dawdle
        assert not slow.round()
        assert stored_days(world) == march(10)
        second, first = world.ledger()
        assert (first.status, first.message) == (JobStatus.FAILED, "lease expired")
        assert (second.status, second.owner) == (JobStatus.DONE, other.owner)
    assert "lost its lease" in caplog.text


def test_a_request_to_stop_rolls_back_and_the_next_start_does_it(tmp_path):
    with a_world(tmp_path, START, benchmarks=("a", "b")) as world:

        def stop(night, owner) -> None:
            raise StopRequested

        world.hook = stop
        with pytest.raises(StopRequested):
            world.worker().round()
        (attempt,) = world.ledger()
        assert attempt.status is JobStatus.FAILED
        assert attempt.message.startswith("stopped by request")
        assert attempt.retry_at is None
        world.hook = lambda night, owner: None
        assert world.worker().round()
        assert Counter(stored_days(world)) == {START.date(): 2}


@pytest.mark.parametrize("opens", range(8))
def test_killed_at_any_moment_the_night_is_done_once(tmp_path, opens):
    with a_world(tmp_path, START) as world:
        with suppress(Killed):
            world.worker(Life(opens_left=opens)).round()
        world.clock.at += timedelta(minutes=31)
        assert world.worker().round()
        assert stored_days(world) == march(10)
        assert [a.status for a in world.ledger()].count(JobStatus.DONE) == 1
        assert all(a.finished_at is not None for a in world.ledger())


def test_three_broken_of_thirty_are_tried_again_and_given_up_alone(tmp_path):
    names = tuple(f"b{n:02}" for n in range(30))
    broken = {"b03", "b11", "b29"}
    with a_world(tmp_path, START, benchmarks=names) as world:

        def break_some(night, owner) -> None:
            if night.target.benchmark in broken:
                raise ValueError("broken\nfor good")

        world.hook = break_some
        worker = world.worker()
        assert not worker.round()
        assert len(world.stored) == 27
        for _ in range(20):
            world.clock.at += timedelta(minutes=15)
            worker.round()
        assert len(world.stored) == 27
        attempts = Counter(a.benchmark for a in world.ledger())
        assert {name: n for name, n in attempts.items() if n > 1} == dict.fromkeys(broken, 5)
        failed = [a for a in world.ledger() if a.benchmark == "b11"]
        assert {a.message for a in failed} == {"ValueError: broken for good"}
        assert [a.retry_at is None for a in failed] == [True, False, False, False, False]


def test_no_recalibration_for_36_hours_is_an_alert_until_one_succeeds(tmp_path, caplog):
    with a_world(tmp_path, START, benchmarks=("a", "b")) as world:
        worker = world.worker()
        worker.round()

        def fail(night, owner) -> None:
            if night.target.benchmark == "a":
                raise RuntimeError("no luck")

        world.hook = fail
        for _ in range(38):
            world.clock.at += HOUR
            worker.round()
            open_for = {a.benchmark for a in list_alerts(world.history)}
            assert open_for == ({"a"} if world.clock.at >= START + 36 * HOUR else set())
        (alert,) = list_alerts(world.history)
        assert alert.rule == "no-recalibration"
        assert "no recalibration for 36 h; last attempt 2027-03-1" in alert.message
        assert "no luck" in alert.message
        world.hook = lambda night, owner: None
        world.clock.at += DAY
        worker.round()
        assert list_alerts(world.history) == []
        (alert,) = list_alerts(world.history, resolved=True)
        assert alert.state is AlertState.RESOLVED
    assert "alert for a (main)" in caplog.text


def test_a_clock_put_back_does_no_night_twice_and_is_told(tmp_path, caplog):
    with a_world(tmp_path, START) as world:
        worker = world.worker()
        worker.round()
        world.clock.at += DAY
        worker.round()
        for back in (HOUR, 10 * HOUR, 23 * HOUR):
            world.clock.at -= back
            worker.round()
            worker.round()
            world.clock.at += back
            worker.round()
        assert stored_days(world) == march(10, 11)
        world.clock.at += DAY
        worker.round()
        assert stored_days(world) == march(10, 11, 12)
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len([w for w in warnings if "the clock has gone backwards" in w]) == 3


def test_pages_follow_their_nights_and_one_backup_follows_all(tmp_path):
    with a_world(tmp_path, START, benchmarks=("a", "b"), report=True) as world:
        order = []
        worker = world.worker()
        worker.publish = lambda app, target, day: order.append((target.benchmark, day))
        worker.back_up = lambda app: order.append(("backup", None))
        worker.app = _with_backup(worker.app)
        worker.round()
        worker.round()
        assert order == [("a", START.date()), ("b", START.date()), ("backup", None)]
        world.clock.at += 2 * DAY
        worker.round()
        pages = [entry for entry in order[3:] if entry[0] != "backup"]
        assert sorted(pages) == [(name, day) for name in "ab" for day in march(11, 12)]
        assert order.count(("backup", None)) == 2
        assert len(world.ledger(REPORT)) == 6
        assert {a.date for a in world.ledger(BACKUP)} == {START.date(), march(12)[0]}


def test_a_page_that_fails_is_written_later_and_costs_no_night(tmp_path):
    with a_world(tmp_path, START, report=True) as world:
        worker = world.worker()

        def full(app, target, day):
            raise OSError(28, "No space left on device")

        good, worker.publish = worker.publish, full
        assert not worker.round()
        assert stored_days(world) == march(10)
        worker.publish = good
        assert worker.round()  # not before its time
        assert [a.status for a in world.ledger(REPORT)] == [JobStatus.FAILED]
        world.clock.at += timedelta(minutes=10)
        worker.round()
        assert [a.status for a in world.ledger(REPORT)] == [JobStatus.DONE, JobStatus.FAILED]
        assert stored_days(world) == march(10)


def test_a_benchmark_that_is_not_scheduled_is_left_alone(tmp_path):
    with a_world(tmp_path, START, enabled=False) as world:
        world.worker().round()
        assert world.ledger() == []


def _with_backup(app):
    schedule = app.settings.schedule.model_copy(update={"backup": True})
    return replace(app, settings=app.settings.model_copy(update={"schedule": schedule}))
