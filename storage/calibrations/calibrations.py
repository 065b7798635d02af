"""Calibrations: fitted models with their constants and replay residuals."""

import json
from collections.abc import Sequence
from datetime import date as calendar_date
from datetime import datetime
from typing import Final

from recurring_eval.errors import InputError
from recurring_eval.estimators.gpirt import GpirtConstants
from recurring_eval.replay.residuals import ReplayResidual
from storage.calibrations.calibration_parameters import (
    insert_parameters,
    insert_residuals,
    load_model,
    load_residuals,
)
from storage.calibrations.calibration_records import CalibrationInfo, CalibrationRecord
from storage.calibrations.hspr_parameters import insert_hspr, load_hspr
from storage.calibrations.mirt_parameters import insert_mirt, load_mirt
from storage.file.history import History
from storage.runs.benchmarks import bank_question_ids, benchmark_row_id
from storage.values import to_utc

__all__ = [
    "CalibrationInfo",
    "CalibrationRecord",
    "add_residuals",
    "calibration_by_id",
    "calibration_on",
    "latest_calibration",
    "list_calibrations",
    "save_calibration",
]

RASCH: Final = "rasch"
COLUMNS: Final = """
SELECT c.calibration_id, b.name, k.version, c.agent_family, c.calibration_date, c.created_at,
       c.superseded_at, c.data_end, c.n_runs, c.model_fingerprint, c.settings
FROM calibration AS c JOIN benchmark AS b USING (benchmark_id) JOIN bank AS k USING (bank_id)
"""


def save_calibration(
    history: History, record: CalibrationRecord, *, supersede: bool = False
) -> int:
    """Store a calibration and return its id.

    Raises
    ------
    InputError
        If its benchmark, bank version and family have one for that date
        already and `supersede` is false, or a run or question is unknown.
    """
    model = record.model
    benchmark_id = benchmark_row_id(history, record.benchmark)
    bank_id, questions = bank_question_ids(
        history, record.benchmark, record.bank_version, model.question_ids
    )
    created_at = to_utc(record.created_at, "`created_at`")
    key = [benchmark_id, bank_id, record.agent_family, record.date]
    same = (
        "benchmark_id = ? AND bank_id = ? AND agent_family = ? AND calibration_date = ?"
        " AND superseded_at IS NULL"
    )
    if history.rows(f"SELECT 1 FROM calibration WHERE {same}", key) and not supersede:
        raise InputError(
            f"benchmark {record.benchmark!r}, family {record.agent_family!r} is calibrated for "
            f"{record.date} already; use --force to refit"
        )
    history.execute(f"UPDATE calibration SET superseded_at = ? WHERE {same}", [created_at, *key])
    calibration_id = history.next_id("calibration")
    history.insert_row(
        "calibration",
        calibration_id=calibration_id,
        benchmark_id=benchmark_id,
        bank_id=bank_id,
        agent_family=record.agent_family,
        calibration_date=record.date,
        created_at=created_at,
        data_end=to_utc(record.data_end, "`data_end`"),
        n_runs=record.n_runs,
        model=RASCH,
        model_fingerprint=model.fingerprint,
        prior_mean=model.prior_mean,
        prior_precision=model.prior_precision,
        log_posterior=model.log_posterior,
        log_likelihood=model.log_likelihood,
        held_out_log_likelihood=model.held_out_log_likelihood,
        converged=model.converged,
        n_iterations=model.n_iterations,
        gpirt_outcome_variance=None if record.gpirt is None else record.gpirt.outcome_variance,
        gpirt_irt_bias=None if record.gpirt is None else record.gpirt.irt_bias,
        settings=json.dumps(dict(record.settings), sort_keys=True, ensure_ascii=False),
    )
    insert_parameters(history, record, calibration_id, benchmark_id, questions)
    if record.mirt is not None:
        _, questions = bank_question_ids(
            history, record.benchmark, record.bank_version, record.mirt.question_ids
        )
        insert_mirt(history, record.mirt, calibration_id, benchmark_id, questions)
    if record.hspr is not None:
        _, questions = bank_question_ids(
            history, record.benchmark, record.bank_version, record.hspr.model.question_ids
        )
        insert_hspr(history, record.hspr, calibration_id, benchmark_id, questions)
    return calibration_id


def add_residuals(
    history: History, record: CalibrationRecord, residuals: Sequence[ReplayResidual]
) -> None:
    """Add residuals of further sizes to a stored calibration, inside a transaction."""
    benchmark_id = benchmark_row_id(history, record.benchmark)
    insert_residuals(history, residuals, record.calibration_id, benchmark_id)


def calibration_by_id(history: History, calibration_id: int) -> CalibrationRecord:
    """Calibration with its parameters.

    Raises
    ------
    InputError
        If there is none of this id.
    """
    found = _infos(history, "c.calibration_id = ?", [calibration_id])
    if not found:
        raise InputError(f"the history has no calibration {calibration_id}")
    return _load(history, found[0])


def calibration_on(
    history: History, benchmark: str, family: str, date: calendar_date
) -> CalibrationRecord | None:
    """Calibration for a date that is not superseded; of several banks the latest made."""
    found = [info for info in list_calibrations(history, benchmark, family) if info.date == date]
    return _load(history, found[-1]) if found else None


def latest_calibration(
    history: History,
    benchmark: str,
    family: str,
    *,
    data_before: datetime | None = None,
) -> CalibrationRecord | None:
    """Latest calibration not superseded; only data from before `data_before`, if given."""
    found = list_calibrations(history, benchmark, family)
    if data_before is not None:
        end = to_utc(data_before, "`data_before`")
        found = [info for info in found if info.data_end < end]
    return _load(history, found[-1]) if found else None


def list_calibrations(
    history: History, benchmark: str, family: str | None = None, *, superseded: bool = False
) -> list[CalibrationInfo]:
    """Calibrations in order of date, then creation; superseded ones only if asked for."""
    condition = "c.benchmark_id = ? AND (?::VARCHAR IS NULL OR c.agent_family = ?)"
    if not superseded:
        condition += " AND c.superseded_at IS NULL"
    return _infos(history, condition, [benchmark_row_id(history, benchmark), family, family])


def _infos(history: History, condition: str, values: Sequence[object]) -> list[CalibrationInfo]:
    rows = history.rows(
        f"{COLUMNS} WHERE {condition} ORDER BY c.calibration_date, c.created_at, c.calibration_id",
        values,
    )
    return [
        CalibrationInfo(
            calibration_id=row[0],
            benchmark=row[1],
            bank_version=row[2],
            agent_family=row[3],
            date=row[4],
            created_at=row[5],
            superseded_at=row[6],
            data_end=row[7],
            n_runs=row[8],
            model_fingerprint=row[9],
            settings=json.loads(row[10]),
        )
        for row in rows
    ]


def _load(history: History, info: CalibrationInfo) -> CalibrationRecord:
    ((variance, bias),) = history.rows(
        "SELECT gpirt_outcome_variance, gpirt_irt_bias FROM calibration WHERE calibration_id = ?",
        [info.calibration_id],
    )
    known = variance is not None and bias is not None
    return CalibrationRecord(
        calibration_id=info.calibration_id,
        benchmark=info.benchmark,
        bank_version=info.bank_version,
        agent_family=info.agent_family,
        date=info.date,
        created_at=info.created_at,
        superseded_at=info.superseded_at,
        data_end=info.data_end,
        model=load_model(history, info.calibration_id),
        mirt=load_mirt(history, info.calibration_id),
        hspr=load_hspr(history, info.calibration_id),
        gpirt=GpirtConstants(outcome_variance=variance, irt_bias=bias) if known else None,
        settings=info.settings,
        residuals=load_residuals(history, info.calibration_id),
    )
