"""Response matrices for tests: hand-made, simulated and read from public data."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from recurring_eval.response_matrix import ResponseMatrix

START = datetime(2026, 1, 1, tzinfo=UTC)


def make_matrix(passes: ArrayLike, trials: ArrayLike | None = None) -> ResponseMatrix:
    """Matrix of the given counts, runs r0000.. an hour apart, questions q0000..; one trial each."""
    counts = np.asarray(passes)
    m, n = counts.shape
    return ResponseMatrix(
        passes=counts,
        trials=np.ones_like(counts) if trials is None else np.asarray(trials),
        run_ids=_ids("r", m),
        question_ids=_ids("q", n),
        started_at=tuple(START + timedelta(hours=i) for i in range(m)),
        agents=("agent",) * m,
    )


def simulate_rasch(
    ability: NDArray[np.float64],
    difficulty: NDArray[np.float64],
    *,
    rng: np.random.Generator,
    missing: float = 0.0,
    n_trials: int = 1,
) -> ResponseMatrix:
    """Draw verdicts of a Rasch model; a cell is missing with the given chance."""
    probability = 1.0 / (1.0 + np.exp(np.subtract.outer(-ability, -difficulty)))
    trials = np.where(rng.random(probability.shape) < missing, 0, n_trials)
    return make_matrix(rng.binomial(trials, probability), trials)


def permuted(matrix: ResponseMatrix, rows: Sequence[int], columns: Sequence[int]) -> ResponseMatrix:
    """The same matrix with rows and columns in another order."""
    order = np.ix_(rows, columns)
    return ResponseMatrix(
        passes=matrix.passes[order],
        trials=matrix.trials[order],
        run_ids=tuple(matrix.run_ids[i] for i in rows),
        question_ids=tuple(matrix.question_ids[j] for j in columns),
        started_at=tuple(matrix.started_at[i] for i in rows),
        agents=tuple(matrix.agents[i] for i in rows),
    )


def read_wide_csv(path: Path) -> ResponseMatrix:
    """Matrix of a CSV with one agent per row and one question per column, cells 1/0."""
    table = pd.read_csv(path, index_col=0)
    counts = table.to_numpy(dtype=np.int16)
    return ResponseMatrix(
        passes=counts,
        trials=np.ones_like(counts),
        run_ids=tuple(str(name) for name in table.index),
        question_ids=tuple(str(name) for name in table.columns),
        started_at=tuple(START + timedelta(hours=i) for i in range(len(counts))),
        agents=tuple(str(name) for name in table.index),
    )


def _ids(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{i:04d}" for i in range(count))
