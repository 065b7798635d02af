"""Slots: one per calendar date, whatever the clocks of the zone do."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.schedule.due import Slot

ZONES = ("UTC", "Europe/Paris", "America/Los_Angeles", "Australia/Lord_Howe")


def slot(zone: str, at: time) -> Slot:
    return Slot(at=at, zone=ZoneInfo(zone))


@pytest.mark.parametrize(
    ("zone", "at", "day", "expected"),
    [
        ("UTC", time(2), date(2027, 3, 28), "2027-03-28T02:00"),
        # Paris: 02:30 does not exist on 28 March and comes twice on 31 October 2027.
        ("Europe/Paris", time(2, 30), date(2027, 3, 27), "2027-03-27T01:30"),
        ("Europe/Paris", time(2, 30), date(2027, 3, 28), "2027-03-28T01:30"),
        ("Europe/Paris", time(2, 30), date(2027, 3, 29), "2027-03-29T00:30"),
        ("Europe/Paris", time(2, 30), date(2027, 10, 31), "2027-10-31T00:30"),
        ("Europe/Paris", time(2, 30), date(2027, 11, 1), "2027-11-01T01:30"),
        # Lord Howe moves by half an hour, on 4 April and 3 October 2027.
        ("Australia/Lord_Howe", time(1, 45), date(2027, 4, 3), "2027-04-02T14:45"),
        ("Australia/Lord_Howe", time(1, 45), date(2027, 4, 4), "2027-04-03T14:45"),
        ("Australia/Lord_Howe", time(2), date(2027, 4, 4), "2027-04-03T15:30"),
        ("Australia/Lord_Howe", time(2, 15), date(2027, 10, 3), "2027-10-02T15:45"),
        ("America/Los_Angeles", time(0), date(2022, 3, 13), "2022-03-13T08:00"),
        ("America/Los_Angeles", time(0), date(2022, 3, 14), "2022-03-14T07:00"),
    ],
)
def test_slots_at_changes_of_the_clock(zone, at, day, expected):
    assert slot(zone, at).starts(day) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_local_midnight_loses_no_day_after_spring_forward():
    """The day after 13 March 2022 in US zones, which apscheduler's cron trigger skips."""
    midnight = slot("US/Pacific", time(0))
    at, seen = datetime(2022, 3, 10, 12, tzinfo=UTC), []
    for _ in range(6):
        at = midnight.next_start(at)
        seen.append(at.astimezone(ZoneInfo("US/Pacific")).date().day)
    assert seen == [11, 12, 13, 14, 15, 16]


def moments(first: int, last: int) -> st.SearchStrategy[datetime]:
    """Instants from the start of one year to that of another."""
    start = datetime(first, 1, 1, tzinfo=UTC)
    seconds = st.integers(0, int((datetime(last, 1, 1, tzinfo=UTC) - start).total_seconds()))
    return seconds.map(lambda n: start + timedelta(seconds=n))


@given(
    zone=st.sampled_from([*ZONES, "Asia/Kathmandu", "Pacific/Apia", "America/St_Johns"]),
    minutes=st.integers(0, 24 * 60 - 1),
    start=moments(2011, 2037),
)
def test_next_slots_are_those_of_consecutive_dates(zone, minutes, start):
    it = slot(zone, time(minutes // 60, minutes % 60))
    at = start
    for _ in range(5):
        last = it.last_night(at)
        assert it.starts(last) <= at < it.starts(last + timedelta(days=1))
        following = it.next_start(at)
        assert following > at
        # A zone that leaves a whole date out, as Samoa did, has two slots at one instant.
        assert it.last_night(following) - last in (timedelta(days=1), timedelta(days=2))
        assert it.last_night(following - timedelta(microseconds=1)) == last
        at = following


@given(
    zone=st.sampled_from(ZONES),
    now=moments(2020, 2037),
)
def test_a_manual_run_belongs_to_the_date_of_the_zone(zone, now):
    assert slot(zone, time(2)).local_date(now) == now.astimezone(ZoneInfo(zone)).date()
