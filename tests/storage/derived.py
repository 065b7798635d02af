"""Calibrations to save, and what reads back compared with them."""

import dataclasses
from collections.abc import Mapping
from datetime import date

import numpy as np

from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.estimators import GpirtConstants
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.registry import model_kinds
from recurring_eval.records import ReplayResidual, Run
from recurring_eval.response_matrix import ResponseMatrix
from storage.calibrations.calibrations import (
    CalibrationInfo,
    StoredCalibration,
    save_calibration,
)
from storage.file.history import History
from storage.runs.verdicts import load_matrix
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, bank

NIGHT = date(2026, 3, 1)
GPIRT = GpirtConstants(outcome_variance=0.23, irt_bias=0.012345678901234567)


def calibration(
    history: History,
    runs: list[Run],
    *,
    rasch: ResponseMatrix | None = None,
    models: Mapping[str, object] | None = None,
    residuals: tuple[ReplayResidual, ...] | None = None,
    **changes: object,
) -> StoredCalibration:
    """A calibration to save, with other models, residuals or facts than usual.

    The Rasch model is fitted on the matrix `rasch`, by default the verdicts of the runs.
    """
    model = fit_rasch(load_matrix(history, runs, QUESTIONS[::-1]) if rasch is None else rasch)
    usual = tuple(
        ReplayResidual(
            run_id=run.run_key,
            method=method,
            k=4,
            estimate=0.1 + 0.2,
            full_pass_rate=run.pass_rate,
            model_sd=1 / 3,
        )
        for method in ("stratified+weighted", "stratified+gpirt")
        for run in runs[3:]
    )
    facts = {
        "benchmark": BENCHMARK,
        "bank_version": bank().version,
        "agent_family": "main",
        "date": NIGHT,
        "created_at": NOW,
        "data_end": runs[-1].started_at,
        "n_runs": len(runs),
        "model_fingerprint": model.fingerprint,
        "settings": {"window": "28d", "minimum_runs": 20, "name": "é"},
    }
    return StoredCalibration(
        info=CalibrationInfo(**(facts | changes)),
        fitted=Calibration(rasch=model, fitted={"gpirt": GPIRT} if models is None else models),
        residuals=usual if residuals is None else residuals,
    )


def save(history: History, record: StoredCalibration, *, supersede: bool = False) -> int:
    with history.transaction():
        return save_calibration(
            history,
            record.info,
            record.fitted,
            record.residuals,
            kinds=model_kinds(),
            supersede=supersede,
        )


def numbered(record: StoredCalibration, calibration_id: int) -> StoredCalibration:
    """The calibration as it is known once it has an id."""
    return dataclasses.replace(
        record, info=dataclasses.replace(record.info, calibration_id=calibration_id)
    )


def assert_same(loaded: object, saved: object, where: str = "") -> None:
    """Equal field by field, arrays bit by bit."""
    if isinstance(saved, np.ndarray):
        assert isinstance(loaded, np.ndarray), where
        assert loaded.dtype == saved.dtype, where
        np.testing.assert_array_equal(loaded, saved, err_msg=where)
    elif dataclasses.is_dataclass(saved):
        assert type(loaded) is type(saved), where
        for field in dataclasses.fields(saved):
            assert_same(getattr(loaded, field.name), getattr(saved, field.name), field.name)
    else:
        assert loaded == saved, where
