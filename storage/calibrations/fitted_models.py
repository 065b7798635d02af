"""Fitted models of a calibration as named arrays, a row for each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
