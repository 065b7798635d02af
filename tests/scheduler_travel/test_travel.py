"""Time travel: whatever happens, every night exactly once and every attempt in the ledger."""

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from jobs.app.targets import Target
from storage.ledger import JobStatus
from tests.scheduler_travel.world import Killed, Life, World, a_world

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ZONES = [
    ("UTC", time(2, 0)),
    ("Europe/Paris", time(2, 30)),
    ("America/Los_Angeles", time(0, 0)),
    ("Australia/Lord_Howe", time(2, 15)),
]
CHANGES = {
    "UTC": datetime(2027, 3, 28, tzinfo=UTC),
    "Europe/Paris": datetime(2027, 3, 28, tzinfo=UTC),
    "America/Los_Angeles": datetime(2027, 11, 7, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2027, 10, 2, tzinfo=UTC),
}


def local_dates(first: date, now: datetime, zone: str, at: time) -> list[date]:
    """Dates from `first` whose time of day has come, counted on the wall calendar."""
    wall = now.astimezone(ZoneInfo(zone))
    last = wall.date() if wall.time() >= at else wall.date() - DAY
    return [first + n * DAY for n in range((last - first).days + 1)]


def check(world: World, zone: str, at: time, targets: list[Target]) -> None:
    attempts = world.ledger()
    for target in targets:
        days = [day for done, day in world.stored if done == target]
        assert sorted(days) == local_dates(min(days), world.clock.now(), zone, at)
        noted = Counter(
            a.date
            for a in attempts
            if a.status is JobStatus.DONE and a.benchmark == target.benchmark
        )
        assert noted == Counter(days)
        assert set(noted.values()) == {1}
    assert world.begun <= len(attempts)
    assert all(attempt.finished_at is not None for attempt in attempts)


def travel(folder: Path, zone: str, at: time, start: datetime, n_days: int, seed: int) -> None:
    """Rounds at random times, with naps, kills, failures and a second scheduler."""
    chance = random.Random(seed)
    targets = [Target(benchmark=name, family="main") for name in ("a", "b")]
    kills = {chance.randrange(n_days * 4) for _ in range(50 * n_days // 400 + 2)}
    naps = {chance.randrange(n_days * 4) for _ in range(n_days // 100 + 1)}
    with a_world(folder, start, benchmarks=("a", "b"), zone=zone, at=at) as world:
        failures: dict[tuple[Target, date], int] = {}
        workers = [world.worker(), world.worker()]

        def trouble(night, owner) -> None:
            key = (night.target, night.day)
            left = failures.setdefault(key, chance.choice([0] * 8 + [1, 2, 4]))
            if chance.random() < 0.1:
                # The other scheduler looks while this one computes, or takes over
                # from it because it takes longer than its lease.
                if chance.random() < 0.3:
                    world.clock.at += timedelta(minutes=31)
                former, world.hook = world.hook, lambda night, owner: None
                other = workers[0] if workers[0].owner != owner else workers[1]
                other.round()
                world.hook = former
            if left:
                failures[key] -= 1
                raise RuntimeError("no luck")

        world.hook = trouble
        for step in range(n_days * 4):
            if step in kills:
                doomed = world.worker(Life(opens_left=chance.randrange(12)))
                with suppress(Killed):
                    doomed.round()
                workers[chance.randrange(2)] = world.worker()
            chance.choice(workers).round()
            world.clock.at += 60 * HOUR if step in naps else chance.choice([1, 5, 7, 11]) * HOUR
            if chance.random() < 0.03:
                back = chance.choice([2, 9, 40]) * HOUR
                world.clock.at -= back
                chance.choice(workers).round()
                world.clock.at += back
        world.hook = lambda night, owner: None
        for _ in range(8):
            world.clock.at += HOUR
            workers[0].round()
        check(world, zone, at, targets)
        n_failed = sum(attempt.status is JobStatus.FAILED for attempt in world.ledger())
        print(
            f"{zone} seed {seed}: {len(world.stored)} nights, {len(world.ledger())} attempts, "
            f"{n_failed} failed or cut short, {len(kills)} kills, {len(naps)} naps"
        )
        assert n_failed > 0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: thousands of commits are synced to disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as name:
        yield Path(name)


@pytest.mark.parametrize(("zone", "at"), ZONES)
def test_three_weeks_around_a_change_of_the_clock(folder, zone, at):
    travel(folder, zone, at, CHANGES[zone] - 7 * DAY, 14, seed=7)


@pytest.mark.torture
@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize(("zone", "at"), ZONES)
def test_400_days(folder, zone, at, seed):
    travel(folder, zone, at, datetime(2026, 12, 1, 12, 34, tzinfo=UTC), 400, seed=seed)
