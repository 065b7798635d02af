"""A world for the real scheduler: its clock, its crashes and its second scheduler.

The history is a real one, kept open between uses because opening it a thousand times
is slow. Only the night's computation is replaced; leases, ledger, catch-up, retries
and the storing transaction are the product's.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from jobs.app.app import App
from jobs.app.config import Settings
from jobs.app.config_schedule import ScheduleSettings
from jobs.app.console import Console
from jobs.app.targets import Target
from jobs.clock import FixedClock
from jobs.importing.import_runs import ImportOptions, import_runs
from jobs.nights.night import Night, NightResult
from jobs.schedule.ledger import RECALIBRATE
from jobs.schedule.worker import Worker
from storage.file.history import History
from storage.ledger import JobRun, JobStatus, finish_job, list_job_runs
from tests.jobs.command_line import write_runs_csv


class Killed(BaseException):
    """The process is gone; nothing it still wanted to do happens."""


@dataclass(slots=True)
class MovingClock:
    """The time of this world."""

    at: datetime

    def now(self) -> datetime:
        return self.at


@dataclass(slots=True)
class Life:
    """Of one process: how many more times it opens the history before it is killed."""

    opens_left: int | None = None

    def spend(self) -> None:
        if self.opens_left is None:
            return
        if self.opens_left <= 0:
            raise Killed
        self.opens_left -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingApp(App):
    """An app whose process can be killed whenever it opens or writes the history."""

    kept: History
    life: Life = field(default_factory=Life)

    def open_history(self, *, read_only: bool = False) -> Any:
        self.life.spend()
        return _Lent(self.kept, self.life)


class _Lent:
    """An open history that closing does not close."""

    def __init__(self, history: History, life: Life) -> None:
        self._history, self._life = history, life

    def __enter__(self) -> "_Lent":
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None: ...

    def checkpoint(self) -> None: ...

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with self._history.transaction():
            yield
            self._life.spend()  # killed before the commit: all of it is rolled back

    def __getattr__(self, name: str) -> Any:
        return getattr(self._history, name)


NightHook = Callable[[Night, str], None]


@dataclass(slots=True, kw_only=True)
class World:
    """One history, one clock, any number of schedulers.

    Attributes
    ----------
    stored : list of (Target, date)
        Nights whose result was committed, as they were.
    begun : int
        Nights that were begun, with those that failed or were killed.
    hook : callable
        Called where a night computes; may raise, kill, or let time pass.
    """

    clock: MovingClock
    history: History
    settings: Settings
    stored: list[tuple[Target, date]] = field(default_factory=list)
    begun: int = 0
    hook: NightHook = lambda night, owner: None
    _n_workers: int = 0

    def worker(self, life: Life | None = None) -> Worker:
        """A scheduler process that has just started."""
        self._n_workers += 1
        owner = f"schedule@elsewhere:{self._n_workers}:x"
        app = LivingApp(
            settings=self.settings,
            config_path=None,
            console=Console(quiet=True),
            clock=self.clock,
            kept=self.history,
            life=life or Life(),
        )
        return Worker(
            app=app,
            owner=owner,
            run=self._night,
            publish=lambda app, target, day: Path(f"{target.benchmark}-{day}.html"),
        )

    def _night(self, app: App, night: Night, attempt: int, *, owner: str) -> NightResult:
        self.begun += 1
        self.hook(night, owner)
        with app.open_history() as history, history.transaction():
            finish_job(
                history,
                attempt,
                status=JobStatus.DONE,
                message="done",
                now=app.clock.now(),
                owner=owner,
            )
        self.stored.append((night.target, night.day))
        return NightResult(calibration_id=1, n_runs=1, published=(), message="done", seconds={})

    def ledger(self, job: str = RECALIBRATE) -> list[JobRun]:
        """Every attempt of a job."""
        return list_job_runs(self.history, job=job)


@contextlib.contextmanager
def a_world(
    folder: Path,
    start: datetime,
    *,
    benchmarks: tuple[str, ...] = ("b",),
    **schedule: object,
) -> Iterator[World]:
    """A history with a run of each benchmark, and nobody at work yet."""
    path = folder / "history.duckdb"
    History.create(path).close()
    settings = Settings(
        history=path,
        reports=folder / "reports",
        schedule=ScheduleSettings.model_validate({"report": False, "backup": False} | schedule),
    )
    app = App(
        settings=settings,
        config_path=None,
        console=Console(quiet=True),
        clock=FixedClock(start),
    )
    files = [
        write_runs_csv(folder / f"{name}.csv", {f"r-{name}": {"q": "pass"}}, benchmark=name)
        for name in benchmarks
    ]
    assert import_runs(app, files, ImportOptions(create=True)).n_refused == 0
    with History.open(path) as history:
        yield World(clock=MovingClock(start), history=history, settings=settings)
