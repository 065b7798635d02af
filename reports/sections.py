"""What the charts of a nightly page draw."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from recurring_eval.errors import InputError
from recurring_eval.records.run import RunKind, RunPurpose
from reports.checks import check_fields

ErrorSource = Literal["replay", "check"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """One run and its observed pass rate.

    Attributes
    ----------
    pass_rate : float or None
        Raw mean over its valid questions; None without a valid verdict. Only
        full runs are drawn as scores; the others show through their estimates.
    under_covered : bool
        A full run with too few valid verdicts; drawn hollow.
    """

    run_key: str
    agent: str
    started_at: datetime
    kind: RunKind
    purpose: RunPurpose
    pass_rate: float | None
    n_valid: int
    under_covered: bool = False

    def __post_init__(self) -> None:
        check_fields(self, shares=("pass_rate",))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialEstimate:
    """Estimate of the full pass rate of a run that was not asked all questions.

    Attributes
    ----------
    at : datetime
        Start of the run.
    estimate, low, high : float
        Fractions with ``low <= estimate <= high``.
    level : float
        Nominal coverage of the interval, for example ``.9``.
    """

    run_key: str
    at: datetime
    estimate: float
    low: float
    high: float
    method: str
    k: int
    level: float = 0.9

    def __post_init__(self) -> None:
        check_fields(self, shares=("estimate", "low", "high", "level"))
        if not self.low <= self.estimate <= self.high:
            raise InputError(
                f"estimate {self.estimate} of run {self.run_key!r} is outside its interval "
                f"[{self.low}, {self.high}]"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DifficultyPoint:
    """One question on the difficulty map.

    Attributes
    ----------
    difficulty : float
        Rasch difficulty in logits.
    pass_rate : float or None
        Passes over trials in the calibration window; None without a response.
    n_responses : int
        Full runs of the window with a valid verdict on it.
    in_subsets : tuple of int
        Sizes k of the published subsets that contain it.
    """

    question_id: str
    difficulty: float
    pass_rate: float | None
    n_responses: int
    in_subsets: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, shares=("pass_rate",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPoint:
    """Accuracy of one method at one k.

    Attributes
    ----------
    source : {"replay", "check"}
        Replay: later runs of the calibration window, estimated from the earlier
        ones. Check: full runs against the calibration in force before them.
    mae_pp, bias_pp : float
        Mean absolute and mean signed error (estimate minus full pass rate).
    coverage : float or None
        Fraction of intervals that contained the full pass rate.
    n : int
        Runs behind the figures.
    """

    source: ErrorSource
    method: str
    k: int
    mae_pp: float
    bias_pp: float
    coverage: float | None
    n: int

    def __post_init__(self) -> None:
        check_fields(self, shares=("coverage",))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheDay:
    """Cache window as it stood on one day; the four counts add up to the bank.

    Attributes
    ----------
    share_cached : float
        ``(n_settled_pass + n_settled_fail)`` over the bank's questions.
    n_settled_pass, n_settled_fail : int
        Questions nearly always passed, nearly always failed.
    n_unsettled : int
        Enough trials, mixed results.
    n_too_few : int
        Fewer trials in the window than the cache needs.
    """

    day: date
    share_cached: float
    n_settled_pass: int
    n_settled_fail: int
    n_unsettled: int
    n_too_few: int

    def __post_init__(self) -> None:
        check_fields(self, shares=("share_cached",))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheWindow:
    """The cache rule and its state day by day, oldest first."""

    n_days: int
    min_trials: int
    epsilon: float
    days: tuple[CacheDay, ...]

    def __post_init__(self) -> None:
        check_fields(self, shares=("epsilon",))
