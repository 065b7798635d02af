"""What a nightly calibration keeps of HSPR, so that a run starts at once."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr.config import AVERAGE, HsprConfig
from recurring_eval.hspr.model import MIN_SOURCES, HsprModel, fit_sources
from recurring_eval.hspr.selection import HsprSelection, select_configuration
from recurring_eval.hspr.sources import thin_sources
from recurring_eval.response_matrix import ResponseMatrix

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
