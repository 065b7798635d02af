"""Verdicts of one run, counted per question of a calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recurring_eval.records import RunLog


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


def verdicts_of(log: RunLog, question_ids: Sequence[str], *, failing: Sequence[str]) -> Verdicts:
    """Count a log's passes and valid trials on the given questions.

    Parameters
    ----------
    log : RunLog
    question_ids : sequence of str
        Includes every question of the log.
    failing : sequence of str
        Reasons for which a missing verdict counts as a fail.
    """
    passes, trials = log.counts(question_ids, failing=failing)
    return Verdicts(passes=passes, trials=trials, started_at=log.started_at)
