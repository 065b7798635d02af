"""Compute the folds of a replay in parallel, on this machine, Dask or Ray, with progress."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import groupby
from types import ModuleType
from typing import Final

import numpy as np

from jobs.app.config import ReplaySettings
from jobs.app.console import Console
from jobs.clock import cpu_seconds, elapsed_seconds
from jobs.randomness import generator
from jobs.replaying.data import ReplayData
from jobs.replaying.journal import Done, Journal
from jobs.replaying.options import ReplaySetup
from recurring_eval.errors import InputError
from recurring_eval.methods.registry import method_named
from recurring_eval.one_thread import one_thread
from recurring_eval.replay.engine import FoldEstimates, run_fold
from recurring_eval.replay.splits import Fold, distinct_sizes
from recurring_eval.replay.summary import FoldKey
from recurring_eval.response_matrix import ResponseMatrix

_BLOCKS_PER_PROCESS: Final = 4
_PROGRESS_EVERY_S: Final = 5.0
_PACKAGES: Final = {"dask": "distributed", "ray": "ray"}


@contextmanager
def parallel_backend(settings: ReplaySettings) -> Iterator[None]:
    """Make joblib use the configured backend inside the block.

    Raises
    ------
    InputError
        If the backend's package is not installed.
    """
    from joblib import parallel_config

    name = settings.backend
    with ExitStack() as stack:
        if name == "dask":
            distributed = _package(name, "distributed")
            stack.enter_context(distributed.Client(settings.address, set_as_default=True))
        elif name == "ray":
            # Ray must be asked to make itself known to joblib.
            _package(name, "ray").init(address=settings.address, ignore_reinit_error=True)
            _package(name, "ray.util.joblib").register_ray()
        stack.enter_context(parallel_config(backend=name))
        yield


def _package(backend: str, module: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(
            f'`[replay] backend = "{backend}"` needs the package {_PACKAGES[backend]!r}; '
            'install it, or set backend = "loky"'
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldTask:
    """One method on one fold under some seeds."""

    key: FoldKey
    seeds: tuple[int, ...]


@dataclass(slots=True)
class Progress:
    """Counts finished work and prints now and then how much is left.

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
    _printed_at: float = 0.0
    _waiting: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _finished: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _in_second_round: bool = False

    def __post_init__(self) -> None:
        self._started = self.clock()

    def begin(self, tasks: Sequence[FoldTask]) -> None:
        """Count the tasks that come next."""
        self._in_second_round = bool(self._finished)
        self._waiting.clear()
        for task in tasks:
            self._waiting[task.key[2]] += len(task.seeds)

    def report(self, task: FoldTask, estimates: list[FoldEstimates], spent: float) -> None:
        """Count a finished task, and print where things stand every few seconds."""
        method = task.key[2]
        self._waiting[method] -= len(task.seeds)
        self._finished[method] += len(task.seeds)
        self._spent[method] += spent
        if not self._in_second_round and any(e.random for e in estimates):
            self._waiting[method] += self.n_seeds - 1
        now = self.clock()
        if now - self._printed_at >= _PROGRESS_EVERY_S and now - self._started >= _PROGRESS_EVERY_S:
            self._printed_at = now
            self.console.progress(self.line())

    def line(self) -> str:
        """How much is done, and how long the rest takes."""
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


def run_tasks(
    data: ReplayData,
    setup: ReplaySetup,
    done: Done,
    *,
    journal: Journal | None,
    progress: Progress,
) -> dict[FoldKey, list[FoldEstimates]]:
    """Compute the results that the journal does not hold yet.

    First every fold and method under the first seed; then the other seeds of those that
    drew anything. Each result has streams of its own, so neither the number of processes
    nor the order of the tasks changes it.

    Parameters
    ----------
    data : ReplayData
    setup : ReplaySetup
    done : dict
        Results of an earlier attempt.
    journal : Journal, optional
        Gets every result at once.
    progress : Progress

    Returns
    -------
    dict of FoldKey to list of FoldEstimates
        By seed.
    """
    from joblib import Parallel, delayed

    results: Done = dict(done)
    sizes = distinct_sizes(setup.budgets, data.matrix.n_questions)

    def run(tasks: Sequence[FoldTask]) -> None:
        if not tasks:
            return
        progress.begin(tasks)
        n_jobs = min(progress.n_jobs, len(tasks))
        finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(run_task)(
                task,
                data.matrix,
                setup.plan.splits[task.key[0]].folds[task.key[1]],
                sizes=sizes,
                seed=setup.seed,
                protocol=setup.plan.protocol,
            )
            for task in tasks
        )
        for task, estimates, spent in finished:
            for of_seed in estimates:
                results[task.key, of_seed.seed] = of_seed
                if journal is not None:
                    journal.add(task.key, of_seed)
            progress.report(task, estimates, spent)

    keys: list[FoldKey] = [
        (split.number, i, method)
        for split in setup.plan.splits
        for i in range(len(split.folds))
        for method in setup.methods
    ]
    first = setup.seeds[0]
    run([FoldTask(key=key, seeds=(first,)) for key in keys if (key, first) not in results])
    drew = [key for key in keys if results[key, first].random]
    n_blocks = max(1, -(-_BLOCKS_PER_PROCESS * progress.n_jobs // max(1, len(drew))))
    run(
        [
            FoldTask(key=key, seeds=block)
            for key in drew
            for block in _blocks([s for s in setup.seeds if (key, s) not in results], n_blocks)
        ]
    )
    ordered = sorted(results, key=lambda entry: (entry[0][:2], entry[0][2], entry[1]))
    return {
        key: [results[entry] for entry in entries]
        for key, entries in groupby(ordered, key=lambda entry: entry[0])
    }


def _blocks(seeds: Sequence[int], n_blocks: int) -> list[tuple[int, ...]]:
    size = max(1, -(-len(seeds) // n_blocks))
    return [tuple(seeds[i : i + size]) for i in range(0, len(seeds), size)]


def run_task(
    task: FoldTask,
    matrix: ResponseMatrix,
    fold: Fold,
    *,
    sizes: Sequence[int],
    seed: int,
    protocol: str,
) -> tuple[FoldTask, list[FoldEstimates], float]:
    """Run one task in this process, on one thread."""
    split, number, name = task.key
    method = method_named(name)
    start = elapsed_seconds()
    with one_thread():
        estimates = run_fold(
            matrix,
            fold,
            method,
            name=name,
            sizes=sizes,
            seeds=task.seeds,
            streams=partial(
                _stream,
                seed,
                "replay",
                protocol,
                str(split),
                str(number),
                method.draws_as or method.name,
            ),
            cpu_clock=cpu_seconds,
        )
    return task, estimates, elapsed_seconds() - start


def _stream(root: int, *path: str | int) -> np.random.Generator:
    """Stream of a seed and a purpose below a path of names."""
    return generator(root, *(str(name) for name in path))
