"""Calibrations as saved and loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date as calendar_date
from datetime import datetime
from typing import Any

from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.estimators.gpirt import GpirtConstants
from recurring_eval.hspr.calibration import HsprCalibration
from recurring_eval.replay.residuals import ReplayResidual


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationInfo:
    """A calibration without its parameters.

    Attributes
    ----------
    calibration_id : int
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
        What the job was asked to do, e.g. the window.
    """

    calibration_id: int
    benchmark: str
    bank_version: str
    agent_family: str
    date: calendar_date
    created_at: datetime
    superseded_at: datetime | None
    data_end: datetime
    n_runs: int
    model_fingerprint: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRecord:
    """A calibration as saved and loaded; fields as in `CalibrationInfo`.

    `calibration_id` is 0 until saved. `gpirt` is None where the history was too
    short for the constants, `mirt` and `hspr` where it was too short for these;
    `residuals` are oldest first.
    """

    calibration_id: int = 0
    benchmark: str
    bank_version: str
    agent_family: str
    date: calendar_date
    created_at: datetime
    superseded_at: datetime | None = None
    data_end: datetime
    model: RaschModel
    mirt: MirtModel | None = None
    hspr: HsprCalibration | None = None
    gpirt: GpirtConstants | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    residuals: tuple[ReplayResidual, ...] = ()

    @property
    def n_runs(self) -> int:
        """Number of calibration runs."""
        return len(self.model.run_ids)
