"""Calibrations to save, and what reads back compared with them."""

import dataclasses
from datetime import date

import numpy as np

from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.estimators.gpirt import GpirtConstants
from recurring_eval.records import Run
from recurring_eval.replay.residuals import ReplayResidual
from storage.calibrations.calibrations import CalibrationRecord, save_calibration
from storage.file.history import History
from storage.runs.verdicts import load_matrix
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, bank

NIGHT = date(2026, 3, 1)


def calibration(history: History, runs: list[Run], **changes: object) -> CalibrationRecord:
    model = fit_rasch(load_matrix(history, runs, QUESTIONS[::-1]))
    residuals = tuple(
        ReplayResidual(
            run_id=run.run_key,
            method=method,
            k=4,
            estimate=0.1 + 0.2,
            full_pass_rate=run.pass_rate,
            error=0.3 - run.pass_rate,
            model_sd=1 / 3,
        )
        for method in ("stratified", "stratified+gpirt")
        for run in runs[3:]
    )
    settings = {
        "benchmark": BENCHMARK,
        "bank_version": bank().version,
        "agent_family": "main",
        "date": NIGHT,
        "created_at": NOW,
        "data_end": runs[-1].started_at,
        "model": model,
        "gpirt": GpirtConstants(outcome_variance=0.23, irt_bias=0.012345678901234567),
        "settings": {"window": "28d", "minimum_runs": 20, "name": "é"},
        "residuals": residuals,
    }
    return CalibrationRecord(**(settings | changes))


def save(history: History, record: CalibrationRecord, *, supersede: bool = False) -> int:
    with history.transaction():
        return save_calibration(history, record, supersede=supersede)


def assert_same(loaded: object, saved: object) -> None:
    """Equal field by field, arrays bit by bit."""
    assert type(loaded) is type(saved)
    for field in dataclasses.fields(saved):
        left, right = getattr(loaded, field.name), getattr(saved, field.name)
        if isinstance(right, np.ndarray):
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right, err_msg=field.name)
        elif dataclasses.is_dataclass(right):
            assert_same(left, right)
        else:
            assert left == right, field.name
