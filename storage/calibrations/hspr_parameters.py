"""HSPR's fitted sources and configuration, a row for each group, question and source."""

import json
from dataclasses import asdict
from typing import Final

import numpy as np
import pyarrow as pa

from recurring_eval.hspr.calibration import HsprCalibration
from recurring_eval.hspr.config import HsprConfig, LatentPrior
from recurring_eval.hspr.items import ZeroInflatedBeta
from recurring_eval.hspr.model import HsprModel
from storage.calibrations.calibration_parameters import numbered
from storage.file.history import History
from storage.keys import run_row_ids

INFINITE: Final = "inf"
"""Stands for an infinite kappa, which JSON cannot say."""


def insert_hspr(
    history: History,
    calibration: HsprCalibration,
    calibration_id: int,
    benchmark_id: int,
    questions: list[int],
) -> None:
    """Write the sources and configuration of a calibration, without the selection's evidence.

    `questions` are the row ids of the model's questions.
    """
    model = calibration.model
    sources = run_row_ids(history, benchmark_id, model.source_ids)
    history.insert_row(
        "hspr_calibration",
        calibration_id=calibration_id,
        model_fingerprint=model.fingerprint,
        configuration=config_to_json(calibration.config),
        zero_mass=model.rates.zero_mass,
        alpha=model.rates.alpha,
        beta=model.rates.beta,
        trial_correlation=model.trial_correlation,
        source_scores=model.source_scores.tolist(),
    )
    history.insert(
        "hspr_group",
        numbered(
            calibration_id,
            intercept=pa.array(model.intercept),
            slope=pa.array(model.slope),
            directions=pa.array(model.directions.tolist(), pa.list_(pa.float64())),
            source_zero=pa.array(model.source_zero),
        ),
    )
    history.insert(
        "hspr_question",
        numbered(
            calibration_id,
            question_id=pa.array(questions, pa.int32()),
            group_position=pa.array(model.group_of_question, pa.int32()),
        ),
    )
    history.insert(
        "hspr_source",
        numbered(
            calibration_id,
            run_id=pa.array([sources[key] for key in model.source_ids], pa.int32()),
        ),
    )


def load_hspr(history: History, calibration_id: int) -> HsprCalibration | None:
    """Build the sources and configuration of a calibration from its rows, if it has any."""
    found = history.rows(
        "SELECT configuration, zero_mass, alpha, beta, trial_correlation, source_scores"
        " FROM hspr_calibration WHERE calibration_id = ?",
        [calibration_id],
    )
    if not found:
        return None
    groups = history.rows(
        "SELECT intercept, slope, directions, source_zero"
        " FROM hspr_group WHERE calibration_id = ? ORDER BY position",
        [calibration_id],
    )
    questions = history.rows(
        "SELECT q.question_key, p.group_position"
        " FROM hspr_question AS p JOIN question AS q USING (question_id)"
        " WHERE p.calibration_id = ? ORDER BY p.position",
        [calibration_id],
    )
    sources = history.rows(
        "SELECT r.run_key FROM hspr_source AS s JOIN run AS r USING (run_id)"
        " WHERE s.calibration_id = ? ORDER BY s.position",
        [calibration_id],
    )
    configuration, zero_mass, alpha, beta, trial_correlation, source_scores = found[0]
    model = HsprModel(
        question_ids=tuple(key for key, _ in questions),
        source_ids=tuple(key for (key,) in sources),
        group_of_question=np.array([group for _, group in questions], dtype=np.intp),
        intercept=np.array([intercept for intercept, _, _, _ in groups]),
        slope=np.array([slope for _, slope, _, _ in groups]),
        directions=np.array([directions for _, _, directions, _ in groups]),
        rates=ZeroInflatedBeta(zero_mass=zero_mass, alpha=alpha, beta=beta),
        source_zero=np.array([zero for _, _, _, zero in groups], dtype=np.bool_),
        source_scores=np.array(source_scores),
        trial_correlation=trial_correlation,
    )
    return HsprCalibration(model=model, config=config_from_json(configuration))


def config_to_json(config: HsprConfig) -> str:
    """Write a configuration as JSON."""
    document = asdict(config)
    if not config.hierarchical:
        document["kappa"] = INFINITE
    return json.dumps(document, allow_nan=False)


def config_from_json(text: str) -> HsprConfig:
    """Read what `config_to_json` wrote."""
    document = json.loads(text)
    return HsprConfig(
        latent=tuple(LatentPrior(**prior) for prior in document.pop("latent")),
        kappa=float(document.pop("kappa")),
        **document,
    )
