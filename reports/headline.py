"""First screen of a nightly page: what a person on call needs at once."""

from dataclasses import dataclass
from datetime import datetime

from recurring_eval.records import ScoredRun
from reports.section import DataTable, make_table
from reports.wording import UNKNOWN, decimal, number, points, signed_points

MAX_METHODS = 5
MAX_SIZES = 6
MAX_ERROR_ROWS = 40


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The figures of the first screen.

    Attributes
    ----------
    last_full_run : ScoredRun or None
        The newest one with enough valid verdicts.
    previous_pass_rate : float or None
        Pass rate of the full run before it; None when it is the first.
    errors : tuple of TodaysError
        One per method and k, the default method first.
    cache_share : float or None
        Fraction of questions settled in today's cache window; None without one.
    health : DataHealth
    """

    last_full_run: ScoredRun | None
    previous_pass_rate: float | None
    errors: tuple[TodaysError, ...]
    cache_share: float | None
    health: DataHealth

    @property
    def change_pp(self) -> float | None:
        """Last full pass rate minus the one before it, in pp."""
        last, before = self.last_full_run, self.previous_pass_rate
        if last is None or last.pass_rate is None or before is None:
            return None
        return 100 * (last.pass_rate - before)

    @property
    def leading_error(self) -> TodaysError | None:
        """The error shown large: the first one."""
        return self.errors[0] if self.errors else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMatrix:
    """Expected error in pp by method (rows) and k (columns), as text.

    Attributes
    ----------
    complete : bool
        Whether every method and k of the headline is in it.
    """

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    complete: bool


def error_matrix(headline: Headline) -> ErrorMatrix:
    """Lay out today's expected errors, the headline's first method on top."""
    methods = list(dict.fromkeys(error.method for error in headline.errors))
    sizes = sorted({error.k for error in headline.errors})
    found = {(error.method, error.k): error.expected_error_pp for error in headline.errors}
    shown = sizes[:MAX_SIZES]
    return ErrorMatrix(
        sizes=tuple(shown),
        rows=tuple(
            (
                method,
                tuple(
                    decimal(found[method, k], 1) if (method, k) in found else UNKNOWN for k in shown
                ),
            )
            for method in methods[:MAX_METHODS]
        ),
        complete=len(methods) <= MAX_METHODS and len(sizes) <= MAX_SIZES,
    )


def todays_errors_table(headline: Headline) -> DataTable:
    """List the errors and intervals of today's estimates by method and k."""
    covered = {True: "inside", False: "outside", None: UNKNOWN}
    return make_table(
        "Today's estimates by method and k",
        ("~Method", "#k", "#Mean error", "#Interval ±", "#Last full run", "Its interval"),
        headline.errors,
        lambda error: (
            error.method,
            number(error.k),
            points(error.expected_error_pp),
            points(error.half_width_pp),
            signed_points(error.last_run_error_pp),
            covered[error.last_run_covered],
        ),
        cap=MAX_ERROR_ROWS,
        cut_words="further figures",
        mark=lambda error: error.last_run_covered is False,
    )
