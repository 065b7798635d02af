"""Where joblib runs the tasks of a replay: processes of this machine, Dask or Ray."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import groupby
from types import ModuleType
from typing import Final

import numpy as np

from jobs.app.config import ReplaySettings
from jobs.clock import cpu_seconds, elapsed_seconds
from jobs.randomness import generator
from jobs.replaying.data import ReplayData
from jobs.replaying.journal import Done
from jobs.replaying.options import ReplaySetup
from recurring_eval.errors import InputError
from recurring_eval.methods.registry import method_named
from recurring_eval.one_thread import one_thread
from recurring_eval.replay.engine import FoldEstimates, run_fold
from recurring_eval.replay.splits import Fold, distinct_sizes
from recurring_eval.replay.summary import FoldKey
from recurring_eval.response_matrix import ResponseMatrix

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


_BLOCKS_PER_PROCESS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One method on one fold under some seeds."""

    key: FoldKey
    seeds: tuple[int, ...]


Report = Callable[[Task, list[FoldEstimates], float], None]
"""Told of every finished task, its results and the seconds it took."""


def run_tasks(
    data: ReplayData,
    setup: ReplaySetup,
    done: Done,
    *,
    n_jobs: int,
    begin: Callable[[Sequence[Task]], None],
    report: Report,
) -> dict[FoldKey, list[FoldEstimates]]:
    """Compute what is not done yet.

    First every fold and method under the first seed; then the other seeds of those that
    drew anything. Each result has streams of its own, so neither the number of processes
    nor the order of the tasks changes it.

    Parameters
    ----------
    data : ReplayData
    setup : ReplaySetup
    done : dict
        Results of an earlier attempt.
    n_jobs : int
        Processes.
    begin : callable
        Told of the tasks that come next.
    report : callable

    Returns
    -------
    dict of FoldKey to list of FoldEstimates
        By seed.
    """
    results: Done = dict(done)
    keys: list[FoldKey] = [
        (split.number, i, method)
        for split in setup.plan.splits
        for i in range(len(split.folds))
        for method in setup.methods
    ]
    first = setup.seeds[0]
    tasks = [Task(key=key, seeds=(first,)) for key in keys if (key, first) not in results]
    _run(tasks, data, setup, results, n_jobs=n_jobs, begin=begin, report=report)
    drew = [key for key in keys if results[key, first].random]
    n_blocks = max(1, -(-_BLOCKS_PER_PROCESS * n_jobs // max(1, len(drew))))
    tasks = [
        Task(key=key, seeds=block)
        for key in drew
        for block in _blocks([s for s in setup.seeds if (key, s) not in results], n_blocks)
    ]
    _run(tasks, data, setup, results, n_jobs=n_jobs, begin=begin, report=report)
    ordered = sorted(results, key=lambda entry: (entry[0][:2], entry[0][2], entry[1]))
    return {
        key: [results[entry] for entry in entries]
        for key, entries in groupby(ordered, key=lambda entry: entry[0])
    }


def _blocks(seeds: Sequence[int], n_blocks: int) -> list[tuple[int, ...]]:
    size = max(1, -(-len(seeds) // n_blocks))
    return [tuple(seeds[i : i + size]) for i in range(0, len(seeds), size)]


def _run(
    tasks: Sequence[Task],
    data: ReplayData,
    setup: ReplaySetup,
    results: Done,
    *,
    n_jobs: int,
    begin: Callable[[Sequence[Task]], None],
    report: Report,
) -> None:
    if not tasks:
        return
    from joblib import Parallel, delayed

    begin(tasks)
    sizes = distinct_sizes(setup.budgets, data.matrix.n_questions)
    finished = Parallel(n_jobs=min(n_jobs, len(tasks)), return_as="generator_unordered")(
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
        report(task, estimates, spent)


def run_task(
    task: Task,
    matrix: ResponseMatrix,
    fold: Fold,
    *,
    sizes: Sequence[int],
    seed: int,
    protocol: str,
) -> tuple[Task, list[FoldEstimates], float]:
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
