"""Parameters of a calibration, a row for each question, run and residual."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from recurring_eval.calibration.models import RaschModel
from recurring_eval.replay.residuals import ReplayResidual
from storage.calibrations.calibration_records import CalibrationRecord
from storage.file.history import History
from storage.keys import run_row_ids


def insert_parameters(
    history: History,
    record: CalibrationRecord,
    calibration_id: int,
    benchmark_id: int,
    questions: list[int],
) -> None:
    """Write item parameters, abilities and residuals of a calibration."""
    model = record.model
    runs = run_row_ids(history, benchmark_id, model.run_ids)
    history.insert(
        "item_parameter",
        numbered(
            calibration_id,
            question_id=pa.array(questions, pa.int32()),
            difficulty=pa.array(model.difficulty),
            n_responses=pa.array(model.n_responses),
        ),
    )
    history.insert(
        "run_ability",
        numbered(
            calibration_id,
            run_id=pa.array([runs[key] for key in model.run_ids], pa.int32()),
            ability=pa.array(model.ability),
        ),
    )
    insert_residuals(history, record.residuals, calibration_id, benchmark_id)


def insert_residuals(
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
    numbers = ("estimate", "full_pass_rate", "error", "model_sd")
    history.insert(
        "replay_residual",
        numbered(
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


def numbered(calibration_id: int, *, first: int = 0, **columns: pa.Array) -> pa.Table:
    """Rows of a calibration in their order, from position `first` on."""
    n = len(next(iter(columns.values())))
    return pa.table(
        {
            "calibration_id": pa.array([calibration_id] * n, pa.int32()),
            "position": pa.array(range(first, first + n), pa.int32()),
            **columns,
        }
    )


def load_model(history: History, calibration_id: int) -> RaschModel:
    """Build the model of a calibration from its rows."""
    (scalars,) = history.rows(
        "SELECT prior_mean, prior_precision, log_posterior, log_likelihood,"
        " held_out_log_likelihood, converged, n_iterations"
        " FROM calibration WHERE calibration_id = ?",
        [calibration_id],
    )
    questions = history.rows(
        "SELECT q.question_key, p.difficulty, p.n_responses"
        " FROM item_parameter AS p JOIN question AS q USING (question_id)"
        " WHERE p.calibration_id = ? ORDER BY p.position",
        [calibration_id],
    )
    runs = history.rows(
        "SELECT r.run_key, a.ability FROM run_ability AS a JOIN run AS r USING (run_id)"
        " WHERE a.calibration_id = ? ORDER BY a.position",
        [calibration_id],
    )
    prior_mean, prior_precision, posterior, likelihood, held_out, converged, iterations = scalars
    return RaschModel(
        question_ids=tuple(key for key, _, _ in questions),
        difficulty=np.array([difficulty for _, difficulty, _ in questions]),
        n_responses=np.array([count for _, _, count in questions], dtype=np.int64),
        run_ids=tuple(key for key, _ in runs),
        ability=np.array([ability for _, ability in runs]),
        prior_mean=prior_mean,
        prior_precision=prior_precision,
        log_posterior=posterior,
        log_likelihood=likelihood,
        held_out_log_likelihood=held_out,
        converged=converged,
        n_iterations=iterations,
    )


def load_residuals(history: History, calibration_id: int) -> tuple[ReplayResidual, ...]:
    """Read the residuals of a calibration in the order they were saved."""
    rows = history.rows(
        "SELECT r.run_key, p.method, p.k, p.estimate, p.full_pass_rate, p.error, p.model_sd"
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
            error=error,
            model_sd=model_sd,
        )
        for run, method, k, estimate, full, error, model_sd in rows
    )
