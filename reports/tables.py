"""What the tables of a nightly page list."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from reports.checks import check_fields

FlagKind = Literal["all-pass", "all-fail", "few-responses", "flaky"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFlag:
    """A question that deserves a look.

    Attributes
    ----------
    reason : str
        One plain sentence.
    n_passes, n_trials : int
        Counts over the calibration window.
    n_runs : int
        Runs of the window with a valid verdict on it.
    """

    question_id: str
    flag: FlagKind
    reason: str
    n_passes: int
    n_trials: int
    n_runs: int

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSummary:
    """A published subset in force.

    Attributes
    ----------
    kept_share : float or None
        Fraction of the former version's questions still in it; None for a first.
    """

    subset_id: str
    design: str
    k: int
    published_at: datetime
    sha256: str
    kept_share: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, shares=("kept_share",))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One line of the job ledger.

    Attributes
    ----------
    day : date
        Date the job was keyed by.
    status : str
        ``succeeded``, ``failed``, ``skipped`` or ``running`` (other words are shown
        as they are).
    seconds : float or None
        Wall time; None while it runs.
    """

    job: str
    day: date
    status: str
    started_at: datetime
    seconds: float | None
    message: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAlert:
    """An alert nobody has resolved yet."""

    rule: str
    opened_at: datetime
    message: str

    def __post_init__(self) -> None:
        check_fields(self)
