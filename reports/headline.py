"""First screen of a nightly page: what a person on call needs at once."""

from dataclasses import dataclass
from datetime import datetime

from reports.checks import check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class LastFullRun:
    """The newest full run with enough valid verdicts.

    Attributes
    ----------
    pass_rate : float
        Mean over its valid questions, a fraction.
    n_valid, n_questions : int
        Questions with a valid verdict, and questions in the bank.
    previous_pass_rate : float or None
        Pass rate of the full run before it; None when it is the first.
    """

    run_key: str
    agent: str
    started_at: datetime
    pass_rate: float
    n_valid: int
    n_questions: int
    previous_pass_rate: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, shares=("pass_rate", "previous_pass_rate"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TodaysError:
    """How far an estimate from k questions is off, under today's calibration.

    Attributes
    ----------
    expected_error_pp : float
        Mean absolute error over the replayed full runs.
    half_width_pp : float or None
        Half width of the interval an estimate gets today; None when not enough
        residuals exist to say.
    last_run_error_pp : float or None
        Signed error (estimate minus full pass rate) on the last full run; None
        when that run was not checked.
    last_run_covered : bool or None
        Whether that interval contained the full pass rate.
    """

    method: str
    k: int
    expected_error_pp: float
    half_width_pp: float | None = None
    last_run_error_pp: float | None = None
    last_run_covered: bool | None = None

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingReason:
    """Verdicts missing for one reason (error, timeout, skipped, not run, ...).

    Attributes
    ----------
    counts_as_fail : bool
        Whether the benchmark counts them as fails, so that they are valid all the same.
    share : float
        Fraction of all expected verdicts of the window's runs.
    n_verdicts : int
        The same, counted.
    """

    reason: str
    share: float
    n_verdicts: int
    counts_as_fail: bool = False

    def __post_init__(self) -> None:
        check_fields(self, shares=("share",))


@dataclass(frozen=True, slots=True, kw_only=True)
class DataHealth:
    """State of the data and of the model behind tonight's figures.

    Attributes
    ----------
    n_full_runs, n_under_covered, n_partial_runs : int
        Runs in the calibration window: full ones that were used, full ones kept
        out because too few verdicts are valid, and partial or adaptive ones.
    valid_share : float or None
        Fraction of expected verdicts of the window's full runs that are valid, or count as
        fails.
    missing : tuple of MissingReason
        Missing verdicts by reason, largest first.
    model_age_hours : float or None
        Age of the calibration in use when the page was made; None without one.
    converged : bool or None
        Whether that fit converged; None without a calibration.
    n_iterations : int or None
        Newton steps of that fit.
    data_from, data_until : datetime or None
        Start of the oldest and newest run in the fit.
    """

    n_full_runs: int
    n_under_covered: int
    n_partial_runs: int
    valid_share: float | None
    missing: tuple[MissingReason, ...]
    model_age_hours: float | None
    converged: bool | None
    n_iterations: int | None = None
    data_from: datetime | None = None
    data_until: datetime | None = None

    def __post_init__(self) -> None:
        check_fields(self, shares=("valid_share",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The figures of the first screen.

    Attributes
    ----------
    last_full_run : LastFullRun or None
    errors : tuple of TodaysError
        One per method and k, the default method first.
    cache_share : float or None
        Fraction of questions settled in today's cache window; None without one.
    health : DataHealth
    """

    last_full_run: LastFullRun | None
    errors: tuple[TodaysError, ...]
    cache_share: float | None
    health: DataHealth

    def __post_init__(self) -> None:
        check_fields(self, shares=("cache_share",))
