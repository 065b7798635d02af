"""Calibrations: what is known of them, and their fitted models, read when they are needed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as calendar_date
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from recurring_eval.errors import InputError
from recurring_eval.methods.calibration import Calibration, ModelKind
from recurring_eval.records import ReplayResidual
from storage.calibrations.fitted_models import insert_models, load_models, load_rasch
from storage.file.history import History
from storage.runs.benchmarks import bank_question_ids, benchmark_row_id
from storage.runs.runs import run_row_ids
from storage.values import to_utc

RASCH: Final = "rasch"
COLUMNS: Final = """
SELECT c.calibration_id, b.name, k.version, c.agent_family, c.calibration_date, c.created_at,
       c.superseded_at, c.data_end, c.n_runs, c.model_fingerprint, c.settings
FROM calibration AS c JOIN benchmark AS b USING (benchmark_id) JOIN bank AS k USING (bank_id)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationInfo:
    """A calibration without its parameters.

    Attributes
    ----------
    calibration_id : int
        0 until saved.
    benchmark, bank_version, agent_family : str
    date : date
        The night it is for.
    created_at : datetime
    superseded_at : datetime or None
        When a refit for the same night took its place.
    data_end : datetime
        Start of the latest run it has seen.
    n_runs : int
    model_fingerprint : str
    settings : mapping
        What the job was asked to do, such as the window, and what it found beside the models.
    """

    calibration_id: int = 0
    benchmark: str
    bank_version: str
    agent_family: str
    date: calendar_date
    created_at: datetime
    superseded_at: datetime | None = None
    data_end: datetime
    n_runs: int
    model_fingerprint: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCalibration:
    """A calibration as loaded.

    Attributes
    ----------
    info : CalibrationInfo
    fitted : Calibration
        With those models alone that were asked for.
    residuals : tuple of ReplayResidual
        Oldest first within a method and k.
    """

    info: CalibrationInfo
    fitted: Calibration
    residuals: tuple[ReplayResidual, ...]


def save_calibration(
    history: History,
    info: CalibrationInfo,
    calibration: Calibration,
    residuals: Sequence[ReplayResidual] = (),
    *,
    kinds: Sequence[ModelKind[Any]] = (),
    supersede: bool = False,
) -> int:
    """Store a calibration and return its id.

    Parameters
    ----------
    history : History
    info : CalibrationInfo
        Without an id; number of runs and fingerprint are the Rasch model's.
    calibration : Calibration
    residuals : sequence of ReplayResidual
    kinds : sequence of ModelKind
        What is stored of the calibration beside the Rasch model.
    supersede : bool

    Raises
    ------
    InputError
        If its benchmark, bank version and family have one for that date
        already and `supersede` is false, or a run or question is unknown.
    """
    model = calibration.rasch
    benchmark_id = benchmark_row_id(history, info.benchmark)
    bank_id, questions = bank_question_ids(
        history, info.benchmark, info.bank_version, model.question_ids
    )
    created_at = to_utc(info.created_at, "`created_at`")
    key = [benchmark_id, bank_id, info.agent_family, info.date]
    same = (
        "benchmark_id = ? AND bank_id = ? AND agent_family = ? AND calibration_date = ?"
        " AND superseded_at IS NULL"
    )
    if history.rows(f"SELECT 1 FROM calibration WHERE {same}", key) and not supersede:
        raise InputError(
            f"benchmark {info.benchmark!r}, family {info.agent_family!r} is calibrated for "
            f"{info.date} already; use --force to refit"
        )
    history.execute(f"UPDATE calibration SET superseded_at = ? WHERE {same}", [created_at, *key])
    calibration_id = history.next_id("calibration")
    history.insert_row(
        "calibration",
        calibration_id=calibration_id,
        benchmark_id=benchmark_id,
        bank_id=bank_id,
        agent_family=info.agent_family,
        calibration_date=info.date,
        created_at=created_at,
        data_end=to_utc(info.data_end, "`data_end`"),
        n_runs=len(model.run_ids),
        model=RASCH,
        model_fingerprint=model.fingerprint,
        prior_mean=model.prior_mean,
        prior_precision=model.prior_precision,
        log_posterior=model.log_posterior,
        log_likelihood=model.log_likelihood,
        held_out_log_likelihood=model.held_out_log_likelihood,
        converged=model.converged,
        n_iterations=model.n_iterations,
        settings=json.dumps(dict(info.settings), sort_keys=True, ensure_ascii=False),
    )
    runs = run_row_ids(history, benchmark_id, model.run_ids)
    history.insert(
        "item_parameter",
        _numbered(
            calibration_id,
            question_id=pa.array(questions, pa.int32()),
            difficulty=pa.array(model.difficulty),
            n_responses=pa.array(model.n_responses),
        ),
    )
    history.insert(
        "run_ability",
        _numbered(
            calibration_id,
            run_id=pa.array([runs[key] for key in model.run_ids], pa.int32()),
            ability=pa.array(model.ability),
        ),
    )
    insert_models(history, calibration, kinds, calibration_id)
    _insert_residuals(history, residuals, calibration_id, benchmark_id)
    return calibration_id


def add_residuals(
    history: History, info: CalibrationInfo, residuals: Sequence[ReplayResidual]
) -> None:
    """Add residuals of further sizes to a stored calibration, inside a transaction."""
    _insert_residuals(
        history, residuals, info.calibration_id, benchmark_row_id(history, info.benchmark)
    )


def load_calibration(
    history: History, info: CalibrationInfo, kinds: Sequence[ModelKind[Any]] = ()
) -> StoredCalibration:
    """Read a calibration's Rasch model and residuals, and its models of the kinds asked for."""
    rasch = load_rasch(history, info.calibration_id)
    return StoredCalibration(
        info=info,
        fitted=Calibration(
            rasch=rasch,
            fitted=load_models(history, kinds, info.calibration_id, rasch.question_ids),
            without=info.settings.get("without", {}),
        ),
        residuals=_load_residuals(history, info.calibration_id),
    )


def calibration_by_id(history: History, calibration_id: int) -> CalibrationInfo:
    """Find a calibration.

    Raises
    ------
    InputError
        If there is none of this id.
    """
    found = _infos(history, "c.calibration_id = ?", [calibration_id])
    if not found:
        raise InputError(f"the history has no calibration {calibration_id}")
    return found[0]


def calibration_on(
    history: History, benchmark: str, family: str, date: calendar_date
) -> CalibrationInfo | None:
    """Find the calibration for a date that is not superseded; of several banks the latest made."""
    found = [info for info in list_calibrations(history, benchmark, family) if info.date == date]
    return found[-1] if found else None


def latest_calibration(
    history: History,
    benchmark: str,
    family: str,
    *,
    data_before: datetime | None = None,
) -> CalibrationInfo | None:
    """Find the latest calibration not superseded; only data from before `data_before`, if given."""
    found = list_calibrations(history, benchmark, family)
    if data_before is not None:
        end = to_utc(data_before, "`data_before`")
        found = [info for info in found if info.data_end < end]
    return found[-1] if found else None


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


def _insert_residuals(
    history: History,
    residuals: Sequence[ReplayResidual],
    calibration_id: int,
    benchmark_id: int,
) -> None:
    """Append residuals to those of a calibration."""
    runs = run_row_ids(history, benchmark_id, [residual.run_id for residual in residuals])
    ((n_before,),) = history.rows(
        "SELECT count(*) FROM replay_residual WHERE calibration_id = ?", [calibration_id]
    )
    numbers = ("estimate", "full_pass_rate", "model_sd")
    history.insert(
        "replay_residual",
        _numbered(
            calibration_id,
            first=n_before,
            run_id=pa.array([runs[residual.run_id] for residual in residuals], pa.int32()),
            method=pa.array([residual.method for residual in residuals], pa.string()),
            k=pa.array([residual.k for residual in residuals], pa.int32()),
            **{
                name: pa.array([getattr(residual, name) for residual in residuals], pa.float64())
                for name in numbers
            },
        ),
    )


def _numbered(calibration_id: int, *, first: int = 0, **columns: pa.Array) -> pa.Table:
    """Rows of a calibration in their order, from position `first` on."""
    n = len(next(iter(columns.values())))
    return pa.table(
        {
            "calibration_id": pa.array([calibration_id] * n, pa.int32()),
            "position": pa.array(range(first, first + n), pa.int32()),
            **columns,
        }
    )


def _load_residuals(history: History, calibration_id: int) -> tuple[ReplayResidual, ...]:
    """Read the residuals of a calibration in the order they were saved."""
    rows = history.rows(
        "SELECT r.run_key, p.method, p.k, p.estimate, p.full_pass_rate, p.model_sd"
        " FROM replay_residual AS p JOIN run AS r USING (run_id)"
        " WHERE p.calibration_id = ? ORDER BY p.position",
        [calibration_id],
    )
    return tuple(
        ReplayResidual(
            run_id=run,
            method=method,
            k=k,
            estimate=estimate,
            full_pass_rate=full,
            model_sd=model_sd,
        )
        for run, method, k, estimate, full, model_sd in rows
    )
