"""Which nights are due: examples, and 400 days with everything that goes wrong."""

import random
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.schedule.due import (
    MOST_INTERRUPTIONS,
    NightState,
    Slot,
    forgone_nights,
    latest_ahead,
    slot_of,
)
from jobs.schedule.ledger import STOPPED, wait_after
from storage.ledger import JobStatus
from tests.jobs.ledger_in_memory import MemoryLedger, a_plan

UTC_SLOT = Slot(at=time(2), zone=ZoneInfo("UTC"))
NOON = datetime(2027, 3, 10, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def ledger(**changes) -> MemoryLedger:
    return MemoryLedger(plan=a_plan(UTC_SLOT, **changes))


def dates(nights) -> list[date]:
    return [night.date for night in nights]


def do(book: MemoryLedger, day: date, now: datetime, status=JobStatus.DONE, message="") -> None:
    number = book.take(day, "a", now)
    assert number is not None
    book.finish(number, status, message, now)


def next_attempt(book: MemoryLedger, now: datetime) -> datetime:
    """When the job may start next: now, after a wait, or at the next slot."""
    nights = book.nights(now)
    if any(night.state is NightState.DUE for night in nights):
        return now
    waits = [night.ready_at for night in nights if night.state is NightState.WAITING]
    return min([slot_of(book.plan).next_start(now), *waits])


def test_before_any_attempt_only_the_latest_night_is_due():
    book = ledger()
    assert dates(book.due(NOON)) == [NOON.date()]
    assert dates(book.due(NOON.replace(hour=1))) == [date(2027, 3, 9)]


@pytest.mark.parametrize("status", [JobStatus.DONE, JobStatus.KEPT])
def test_a_settled_night_is_not_due_and_missed_ones_are(status):
    book = ledger()
    do(book, NOON.date(), NOON, status)
    assert book.due(NOON) == []
    assert next_attempt(book, NOON) == datetime(2027, 3, 11, 2, tzinfo=UTC)
    later = NOON + 60 * HOUR
    assert dates(book.due(later)) == [
        date(2027, 3, 11),
        date(2027, 3, 12),
    ]
    assert next_attempt(book, later) == later


def test_a_night_missed_before_a_manual_run_is_still_due():
    book = ledger()
    do(book, date(2027, 3, 5), NOON - 5 * DAY)
    do(book, NOON.date(), NOON)
    missed = [date(2027, 3, d) for d in (6, 7, 8, 9)]
    assert dates(book.due(NOON)) == missed


def test_a_manual_run_for_a_past_date_calls_no_night_due():
    book = ledger()
    do(book, date(2026, 1, 1), NOON)
    assert dates(book.due(NOON)) == [NOON.date()]


def test_a_manual_run_before_the_slot_is_the_night():
    book = ledger()
    do(book, NOON.date(), NOON.replace(hour=0, minute=30))
    assert book.due(NOON) == []


def test_failures_wait_twice_as_long_each_time_and_are_given_up():
    book, now = ledger(), NOON
    waits = []
    for _ in range(5):
        assert dates(book.due(now)) == [NOON.date()]
        do(book, NOON.date(), now, JobStatus.FAILED, "failed")
        later = next_attempt(book, now)
        waits.append((later - now) / timedelta(minutes=1))
        if len(waits) < 5:
            just_before = later - timedelta(microseconds=1)
            (night,) = book.nights(just_before)
            assert night.state is NightState.WAITING
            now = later
    assert waits[:4] == [10, 20, 40, 80]
    (night,) = book.nights(now)
    assert (night.state, night.failures) == (NightState.GIVEN_UP, 5)
    assert dates(book.due(now + DAY)) == [date(2027, 3, 11)]


def test_the_wait_has_a_limit():
    plan = a_plan(UTC_SLOT, attempts=100)
    assert wait_after(99, plan) == timedelta(hours=6)


def test_an_attempt_cut_short_is_no_failure_but_not_repeated_for_ever():
    book = ledger()
    for _ in range(MOST_INTERRUPTIONS):
        (night,) = book.due(NOON)
        assert night.failures == 0
        do(book, NOON.date(), NOON, JobStatus.FAILED, f"{STOPPED} by request")
    (night,) = book.nights(NOON)
    assert night.state is NightState.GIVEN_UP


def test_a_night_at_work_is_not_due_until_its_lease_ends():
    book = ledger()
    assert book.take(NOON.date(), "a", NOON) is not None
    (night,) = book.nights(NOON + timedelta(minutes=29))
    assert night.state is NightState.RUNNING
    assert dates(book.due(NOON + timedelta(minutes=30)))


def test_nights_too_far_back_are_told_but_not_made_up_for():
    book = ledger(catch_up_days=3)
    do(book, date(2027, 3, 1), datetime(2027, 3, 1, 2, tzinfo=UTC))
    assert dates(book.due(NOON)) == [date(2027, 3, d) for d in (7, 8, 9, 10)]
    assert forgone_nights(book.attempts, book.plan, NOON) == [
        date(2027, 3, d) for d in (2, 3, 4, 5, 6)
    ]


def test_a_clock_that_goes_back_does_no_night_twice_and_forgets_none():
    book = ledger()
    do(book, NOON.date(), NOON)
    for back in (HOUR, 5 * HOUR, 20 * HOUR):
        assert latest_ahead(book.attempts, NOON - back) == NOON
        earlier = dates(book.due(NOON - back))
        assert NOON.date() not in earlier
    assert latest_ahead(book.attempts, NOON) is None
    assert dates(book.due(NOON + DAY)) == [date(2027, 3, 11)]


def test_a_clock_years_ahead_at_first_does_not_put_the_nights_off_for_years():
    book = ledger()
    wrong = NOON.replace(year=2035)
    do(book, wrong.date(), wrong)
    assert dates(book.due(NOON)) == [NOON.date()]
    do(book, NOON.date(), NOON)
    assert dates(book.due(NOON + 2 * DAY)) == [
        date(2027, 3, 11),
        date(2027, 3, 12),
    ]


def test_a_wait_or_lease_from_a_clock_ahead_does_not_hold_a_night_up():
    book = ledger()
    ahead = NOON + 3 * DAY
    do(book, NOON.date(), ahead, JobStatus.FAILED, "failed")
    assert dates(book.due(NOON)) == [NOON.date()]
    assert book.take(NOON.date(), "a", ahead) is not None
    assert dates(book.due(NOON)) == [NOON.date()]


@settings(deadline=None, max_examples=10)
@given(
    zone=st.sampled_from(["UTC", "Europe/Paris", "America/Los_Angeles", "Australia/Lord_Howe"]),
    at=st.sampled_from([time(0), time(2), time(2, 15), time(2, 30), time(23, 50)]),
    seed=st.integers(0, 2**32),
)
def test_400_days_of_trouble(zone, at, seed):
    """Random rounds of two schedulers, crashes, failures, naps, a clock put back."""
    chance = random.Random(seed)
    slot = Slot(at=at, zone=ZoneInfo(zone))
    book = MemoryLedger(plan=a_plan(slot))
    now = start = datetime(2026, 12, 1, chance.randrange(24), chance.randrange(60), tzinfo=UTC)
    failures_left: dict[date, int] = {}
    while now < start + 400 * DAY:
        if chance.random() < 0.02:
            now += chance.choice([60 * HOUR, 30 * HOUR])
        skew = chance.choice([timedelta()] * 20 + [-5 * HOUR, -50 * HOUR])
        _round(book, now + skew, chance, failures_left)
        now += chance.choice([timedelta(minutes=1), timedelta(minutes=20), 3 * HOUR, 9 * HOUR])
    for _ in range(60):
        now += HOUR
        _round(book, now, None, failures_left)
    # Expected without the code under test: every calendar date of the zone in between.
    first = min(book.settled())
    last = now.astimezone(slot.zone)
    end = last.date() if last.time() >= at else last.date() - DAY
    expected = [first + n * DAY for n in range((end - first).days + 1)]
    assert sorted(book.settled()) == expected
    begun = (start + 60 * HOUR).astimezone(slot.zone).date()
    assert first <= begun
    assert all(a.status is not JobStatus.RUNNING for a in book.attempts)


def _round(book, now, chance, failures_left) -> None:
    owner = "a" if chance is None else chance.choice("abcdefgh")
    for night in book.due(now):
        number = book.take(night.date, owner, now)
        if number is None:
            continue
        if chance is not None:
            left = failures_left.setdefault(night.date, chance.choice([0, 0, 0, 1, 2, 4]))
            if chance.random() < 0.1:
                return  # killed: the lease stays
            if left:
                failures_left[night.date] -= 1
                book.finish(number, JobStatus.FAILED, "failed", now)
                continue
        book.finish(number, JobStatus.DONE, "", now)
