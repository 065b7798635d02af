"""The calibration in force for a run, and estimates under it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.nightly_model import SUBSET_METHODS
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.methods import Method, estimate_score, method_named
from recurring_eval.records import Flag, ScoreEstimate, Subset
from recurring_eval.replay import conformal_scale
from storage.calibration_records import CalibrationRecord
from storage.calibrations import latest_calibration
from storage.history import History

AUTO: Final = "auto"
STALE_AFTER: Final = timedelta(days=7)
"""A run this much younger than the newest data of its calibration is flagged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Counts of one run, aligned with a calibration's questions.

    Attributes
    ----------
    passes, trials : ndarray of int16, shape (n,)
    started_at : datetime
    """

    passes: NDArray[np.int16]
    trials: NDArray[np.int16]
    started_at: datetime


def calibration_in_force(
    history: History, benchmark: str, family: str, at: datetime | None = None
) -> CalibrationRecord:
    """Load the latest calibration whose data end before a time, or the latest of all.

    Raises
    ------
    NotEnoughDataError
        If there is none.
    """
    record = latest_calibration(history, benchmark, family, data_before=at)
    if record is not None:
        return record
    when = "" if at is None else f" with data that end before {at:%Y-%m-%d %H:%M} UTC"
    raise NotEnoughDataError(
        f"benchmark {benchmark!r}, family {family!r} has no calibration{when}; "
        "run `recurring-eval recalibrate`"
    )


def chosen_method(name: str) -> Method:
    """Find the method of that name; ``auto`` is the default of the subset methods."""
    return method_named(SUBSET_METHODS[0] if name == AUTO else name)


def estimate_under(
    calibration: CalibrationRecord,
    verdicts: Verdicts,
    *,
    subset: Subset | None,
    method: Method,
    level: float,
    population: NDArray[np.bool_] | None = None,
) -> ScoreEstimate:
    """Estimate a run's full pass rate under a calibration.

    Parameters
    ----------
    calibration : CalibrationRecord
    verdicts : Verdicts
    subset : Subset or None
        What was asked; None for the whole bank.
    method : Method
    level : float
        Nominal coverage of the intervals.
    population : ndarray of bool, shape (n,), optional
        Questions the score is the mean of; by default the whole bank.
    """
    k = calibration.model.n_questions if subset is None else subset.k
    stale = verdicts.started_at - calibration.data_end > STALE_AFTER
    return estimate_score(
        method=method,
        model=calibration.model,
        passes=verdicts.passes,
        trials=verdicts.trials,
        subset=subset,
        gpirt=calibration.gpirt,
        scale=conformal_scale(calibration.residuals, method=method.name, k=k),
        level=level,
        population=population,
        run_to_run_variance=float(calibration.settings.get("run_to_run_variance", 0.0)),
        extra_flags=(Flag.STALE_CALIBRATION,) if stale else (),
    )
