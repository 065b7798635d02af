"""Fitted models of a calibration: the Rasch model's rows, and named arrays of every other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.methods.calibration import Calibration, ModelKind
from storage.file.history import History


def insert_models(
    history: History,
    calibration: Calibration,
    kinds: Sequence[ModelKind[Any]],
    calibration_id: int,
) -> None:
    """Write what a calibration has of these kinds of models."""
    rows = [
        (kind.name, name, np.asarray(values))
        for kind in kinds
        if (model := calibration.get(kind)) is not None
        for name, values in kind.to_arrays(model).items()
    ]
    is_text = [values.dtype.kind == "U" for _, _, values in rows]
    history.insert(
        "fitted_array",
        pa.table(
            {
                "calibration_id": pa.array([calibration_id] * len(rows), pa.int32()),
                "model": pa.array([model for model, _, _ in rows], pa.string()),
                "name": pa.array([name for _, name, _ in rows], pa.string()),
                "shape": pa.array([values.shape for _, _, values in rows], pa.list_(pa.int32())),
                "numbers": pa.array(
                    [
                        None if text else values.astype(np.float64).ravel()
                        for (_, _, values), text in zip(rows, is_text, strict=True)
                    ],
                    pa.list_(pa.float64()),
                ),
                "texts": pa.array(
                    [
                        values.ravel().tolist() if text else None
                        for (_, _, values), text in zip(rows, is_text, strict=True)
                    ],
                    pa.list_(pa.string()),
                ),
            }
        ),
    )


def load_models(
    history: History,
    kinds: Sequence[ModelKind[Any]],
    calibration_id: int,
    question_ids: tuple[str, ...],
) -> Mapping[str, object]:
    """Read the models of these kinds that a calibration has, by name of the kind."""
    if not kinds:
        return {}
    arrays: dict[str, dict[str, NDArray[Any]]] = {}
    rows = history.rows(
        "SELECT model, name, shape, numbers, texts FROM fitted_array"
        " WHERE calibration_id = ? AND model IN (SELECT unnest(?::VARCHAR[]))",
        [calibration_id, [kind.name for kind in kinds]],
    )
    for model, name, shape, numbers, texts in rows:
        values = np.array(numbers, dtype=np.float64) if texts is None else np.array(texts)
        arrays.setdefault(model, {})[name] = values.reshape(shape)
    return {
        kind.name: kind.from_arrays(arrays[kind.name], question_ids)
        for kind in kinds
        if kind.name in arrays
    }


def load_rasch(history: History, calibration_id: int) -> RaschModel:
    """Build the Rasch model of a calibration from its rows."""
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
