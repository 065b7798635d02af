"""Progress of a replay on stderr, with the time left."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from jobs.app.console import Console
from jobs.clock import elapsed_seconds
from jobs.replaying.tasks import Task
from recurring_eval.replay.engine import FoldEstimates

_EVERY_S: Final = 5.0


@dataclass(slots=True)
class Progress:
    """Counts finished work and says now and then how much is left.

    Methods differ in cost, so what is left is counted in seconds, each method's as its
    finished folds and seeds took.

    Attributes
    ----------
    console : Console
    n_seeds : int
        Of methods that draw.
    n_jobs : int
        Processes that share the work.
    clock : callable
        Seconds.
    """

    console: Console
    n_seeds: int
    n_jobs: int = 1
    clock: Callable[[], float] = elapsed_seconds
    _started: float = field(init=False)
    _said: float = 0.0
    _waiting: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _finished: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _in_second_round: bool = False

    def __post_init__(self) -> None:
        self._started = self.clock()

    def begin(self, tasks: Sequence[Task]) -> None:
        """Take in the tasks that come next."""
        self._in_second_round = bool(self._finished)
        self._waiting.clear()
        for task in tasks:
            self._waiting[task.key[2]] += len(task.seeds)

    def report(self, task: Task, estimates: list[FoldEstimates], spent: float) -> None:
        """Take in a finished task, and say where things stand every few seconds."""
        method = task.key[2]
        self._waiting[method] -= len(task.seeds)
        self._finished[method] += len(task.seeds)
        self._spent[method] += spent
        if not self._in_second_round and any(e.random for e in estimates):
            self._waiting[method] += self.n_seeds - 1
        now = self.clock()
        if now - self._said >= _EVERY_S and now - self._started >= _EVERY_S:
            self._said = now
            self.console.progress(self.line())

    def line(self) -> str:
        """Say how much is done and how long the rest takes."""
        done, waiting = sum(self._finished.values()), sum(self._waiting.values())
        overall = sum(self._spent.values()) / max(done, 1)
        left = sum(
            count
            * (self._spent[method] / self._finished[method] if self._finished[method] else overall)
            for method, count in self._waiting.items()
        )
        return (
            f"replayed {done} of {done + waiting} folds and seeds, "
            f"about {_in_words(left / self.n_jobs)} left"
        )


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"
