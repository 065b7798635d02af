"""Multidimensional model of a calibration, a row for each question and run."""

import numpy as np
import pyarrow as pa

from recurring_eval.calibration.models import MirtModel
from storage.calibrations.calibration_parameters import numbered
from storage.file.history import History
from storage.keys import run_row_ids


def insert_mirt(
    history: History,
    model: MirtModel,
    calibration_id: int,
    benchmark_id: int,
    questions: list[int],
) -> None:
    """Write the model of a calibration; `questions` are the row ids of its questions."""
    runs = run_row_ids(history, benchmark_id, model.run_ids)
    history.insert_row(
        "mirt_calibration",
        calibration_id=calibration_id,
        n_dimensions=model.n_dimensions,
        model_fingerprint=model.fingerprint,
        discrimination_sd=model.discrimination_sd,
        prior_mean=model.prior_mean.tolist(),
        prior_precision=model.prior_precision,
        log_posterior=model.log_posterior,
        log_likelihood=model.log_likelihood,
        held_out_log_likelihood=model.held_out_log_likelihood,
        converged=model.converged,
        n_iterations=model.n_iterations,
    )
    history.insert(
        "mirt_item_parameter",
        numbered(
            calibration_id,
            question_id=pa.array(questions, pa.int32()),
            difficulty=pa.array(model.difficulty),
            discrimination=pa.array(model.discrimination.tolist(), pa.list_(pa.float64())),
            n_responses=pa.array(model.n_responses),
        ),
    )
    history.insert(
        "mirt_run_ability",
        numbered(
            calibration_id,
            run_id=pa.array([runs[key] for key in model.run_ids], pa.int32()),
            ability=pa.array(model.ability.tolist(), pa.list_(pa.float64())),
        ),
    )


def load_mirt(history: History, calibration_id: int) -> MirtModel | None:
    """Build the multidimensional model of a calibration from its rows, if it has one."""
    found = history.rows(
        "SELECT discrimination_sd, prior_mean, prior_precision, log_posterior, log_likelihood,"
        " held_out_log_likelihood, converged, n_iterations"
        " FROM mirt_calibration WHERE calibration_id = ?",
        [calibration_id],
    )
    if not found:
        return None
    questions = history.rows(
        "SELECT q.question_key, p.difficulty, p.discrimination, p.n_responses"
        " FROM mirt_item_parameter AS p JOIN question AS q USING (question_id)"
        " WHERE p.calibration_id = ? ORDER BY p.position",
        [calibration_id],
    )
    runs = history.rows(
        "SELECT r.run_key, a.ability FROM mirt_run_ability AS a JOIN run AS r USING (run_id)"
        " WHERE a.calibration_id = ? ORDER BY a.position",
        [calibration_id],
    )
    sd, prior_mean, precision, posterior, likelihood, held_out, converged, iterations = found[0]
    return MirtModel(
        question_ids=tuple(key for key, _, _, _ in questions),
        discrimination=np.array([slopes for _, _, slopes, _ in questions]),
        difficulty=np.array([difficulty for _, difficulty, _, _ in questions]),
        run_ids=tuple(key for key, _ in runs),
        ability=np.array([ability for _, ability in runs]),
        n_responses=np.array([count for _, _, _, count in questions], dtype=np.int64),
        prior_mean=np.array(prior_mean),
        prior_precision=precision,
        discrimination_sd=sd,
        log_posterior=posterior,
        log_likelihood=likelihood,
        held_out_log_likelihood=held_out,
        converged=converged,
        n_iterations=iterations,
    )
