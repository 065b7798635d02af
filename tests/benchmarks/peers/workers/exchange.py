"""What a worker reads and writes; standard library and NumPy only, for any environment.

A worker is run by the interpreter of its own environment as ``python worker.py INPUT.npz
OUTPUT.json``. All of them speak of P(pass) = sigmoid(slope * ability - intercept).
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np


def read_problem():
    """Arrays of the input file."""
    with np.load(sys.argv[1]) as arrays:
        return {name: arrays[name] for name in arrays.files}


def cpu_timed(work: Callable[[], object]):
    """CPU seconds of this process, all threads, and what the work returned."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def cpu_timed_fit(fit: Callable[[], object]):
    """Like `cpu_timed`; a fit of less than a second is repeated and the median of five given."""
    seconds, result = cpu_timed(fit)
    if seconds >= 1.0:
        return seconds, result
    return float(np.median([seconds, *(cpu_timed(fit)[0] for _ in range(4))])), result


def write_result(package: str, **values) -> None:
    """Write arrays as lists; a value that is not a number becomes null."""
    result = {"version": metadata.version(package)}
    for name, value in values.items():
        result[name] = _plain(value) if isinstance(value, np.ndarray) else value
    Path(sys.argv[2]).write_text(json.dumps(result, allow_nan=False), encoding="utf-8")


def _plain(array: np.ndarray) -> list:
    return [x if np.isfinite(x) else None for x in array.tolist()]


class StepClock:
    """CPU seconds of choosing questions and of whole steps, summed over an adaptive run."""

    def __init__(self) -> None:
        self.choosing = 0.0
        self.learning = 0.0

    def choose(self, work: Callable[[], object]):
        """Time the choice of a question."""
        seconds, result = cpu_timed(work)
        self.choosing += seconds
        return result

    def learn(self, work: Callable[[], object]):
        """Time the new ability."""
        seconds, result = cpu_timed(work)
        self.learning += seconds
        return result

    def per_step(self, n_steps: int) -> dict[str, float]:
        """Mean seconds a step and a choice."""
        return {
            "cpu_seconds": (self.choosing + self.learning) / n_steps,
            "choosing_seconds": self.choosing / n_steps,
        }
