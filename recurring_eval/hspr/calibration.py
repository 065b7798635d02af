"""HSPR calibrated on a history: which runs become sources, and with which configuration.

Distinct agents tell questions apart; hundreds of runs of one agent give every question
a signature of its own, so that groups no longer pool. So every agent is kept, and the
runs of one agent are thinned. The runs thinned out still feed the item parameters:
sources are what signatures are made of and what selection holds out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.hspr.config import AVERAGE, HsprConfig
from recurring_eval.hspr.model import MIN_SOURCES, HsprModel, fit_sources
from recurring_eval.hspr.selection import HsprSelection, select_configuration
from recurring_eval.records import FULL_RUN_MIN_VALID
from recurring_eval.response_matrix import ResponseMatrix

MAX_RUNS_PER_AGENT: Final = 30


def thin_sources(
    matrix: ResponseMatrix,
    *,
    config_keys: Sequence[str] | None = None,
    max_runs_per_agent: int = MAX_RUNS_PER_AGENT,
) -> NDArray[np.intp]:
    """Rows that serve as sources, in time order.

    Only full runs with at least 80 % valid verdicts are considered, unless there are
    none. Every agent is used. Of an agent with more than `max_runs_per_agent` runs,
    first the latest run of each distinct configuration is taken, then runs spread
    evenly in time over the rest; where the configurations alone are too many, their
    latest runs are themselves spread evenly in time, the newest always among them.

    Parameters
    ----------
    matrix : ResponseMatrix
    config_keys : sequence of str, optional
        Configuration of each run; by default an agent has one configuration.
    max_runs_per_agent : int

    Returns
    -------
    ndarray of intp
        Row numbers of `matrix`.

    Raises
    ------
    InputError
        `config_keys` has another length than the matrix, or no run may be taken.
    """
    keys = tuple(config_keys) if config_keys is not None else ("",) * matrix.n_runs
    if len(keys) != matrix.n_runs:
        raise InputError(f"`config_keys` has {len(keys)} entries for {matrix.n_runs} runs")
    if max_runs_per_agent < 1:
        raise InputError(f"`max_runs_per_agent` is {max_runs_per_agent}; it must be 1 or more")
    by_time, _ = matrix.canonical_order()
    covered = matrix.valid_fractions() >= FULL_RUN_MIN_VALID
    if covered.any():
        by_time = by_time[covered[by_time]]
    by_agent: dict[str, list[int]] = {}
    for row in by_time:
        by_agent.setdefault(matrix.agents[row], []).append(int(row))
    kept = {
        row
        for rows in by_agent.values()
        for row in _thinned(rows, [keys[i] for i in rows], max_runs_per_agent)
    }
    return np.array([row for row in by_time if row in kept], dtype=np.intp)


def _thinned(rows: list[int], keys: list[str], limit: int) -> list[int]:
    if len(rows) <= limit:
        return rows
    latest = sorted({key: i for i, key in enumerate(keys)}.values())
    if len(latest) >= limit:
        return [rows[latest[i]] for i in evenly_spaced(len(latest), limit)]
    others = [i for i in range(len(rows)) if i not in set(latest)]
    chosen = latest + [others[i] for i in evenly_spaced(len(others), limit - len(latest))]
    return [rows[i] for i in chosen]


def evenly_spaced(n: int, k: int) -> list[int]:
    """Choose `k` of the positions 0..n-1, evenly spaced, the last one among them."""
    return [(n * (i + 1)) // k - 1 for i in range(k)]


PATH_NODES: Final = 2048
"""Nodes while questions are chosen: as accurate as 8,192."""

SELECTION_BUDGET: Final = 0.1
"""Share of the bank asked while a configuration is selected, as published for all budgets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprCalibration:
    """Fitted sources and the configuration that evaluates targets.

    Attributes
    ----------
    model : HsprModel
    config : HsprConfig
    selection : HsprSelection or None
        The evidence for a selected configuration; None for one that needs no selection,
        and where the calibration was loaded from a history, which keeps the choice alone.
    """

    model: HsprModel
    config: HsprConfig
    selection: HsprSelection | None = None

    @property
    def question_ids(self) -> tuple[str, ...]:
        """Questions the sources were fitted on."""
        return self.model.question_ids


def calibrate_average(
    matrix: ResponseMatrix, *, sources: NDArray[np.intp] | None = None
) -> HsprCalibration:
    """Fit the sources; the average needs no selection.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs.
    sources : ndarray of int, optional
        Rows that make up the signatures; by default `signature_rows`.

    Raises
    ------
    NotEnoughDataError
        Fewer than two runs with a valid verdict.
    """
    rows = signature_rows(matrix) if sources is None else sources
    config = replace(AVERAGE, path_nodes=PATH_NODES)
    return HsprCalibration(model=fit_sources(matrix, sources=rows), config=config)


def calibrate_staged(
    matrix: ResponseMatrix,
    *,
    sources: NDArray[np.intp] | None = None,
    rng: np.random.Generator,
) -> HsprCalibration:
    """Fit the sources and select a configuration on them, as published.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs.
    sources : ndarray of int, optional
        Rows that make up the signatures and take turns being held out; by default
        `signature_rows`.
    rng : numpy.random.Generator
        Draws the query orders of the selection.

    Raises
    ------
    NotEnoughDataError
        Too few runs to hold one out.
    """
    rows = signature_rows(matrix) if sources is None else sources
    budget = max(1, round(SELECTION_BUDGET * matrix.n_questions))
    selection = select_configuration(matrix, budget=budget, rng=rng, sources=rows)
    return HsprCalibration(
        model=fit_sources(matrix, sources=rows),
        config=replace(selection.config, path_nodes=PATH_NODES),
        selection=selection,
    )


def signature_rows(
    matrix: ResponseMatrix, config_keys: tuple[str, ...] | None = None
) -> NDArray[np.intp]:
    """Thinned sources, or every run where that leaves too few to hold one out.

    Parameters
    ----------
    matrix : ResponseMatrix
    config_keys : tuple of str, optional
        Configuration of each run, as in `thin_sources`.
    """
    thinned = thin_sources(matrix, config_keys=config_keys)
    return thinned if len(thinned) > MIN_SOURCES else np.arange(matrix.n_runs, dtype=np.intp)
