"""What one nightly report page shows: plain values, filled by jobs, drawn by `render`.

Units are the same everywhere: pass rates, shares and coverages are fractions in
``[0, 1]``; names that end in ``_pp`` are percentage points (``2.4`` means 2.4 pp);
times are timezone-aware, dates are UTC dates. A number that is not known is
``None``, never NaN. Everything is checked here, so drawing can rely on it.
"""

from dataclasses import dataclass
from datetime import date, datetime

from reports.checks import check_fields
from reports.headline import DataHealth, Headline, LastFullRun, MissingReason, TodaysError
from reports.hspr_sources import HsprEstimate, HsprSources
from reports.sections import (
    CacheDay,
    CacheWindow,
    DifficultyPoint,
    ErrorPoint,
    ErrorSource,
    HistoryPoint,
    PartialEstimate,
)
from reports.tables import FlagKind, JobRow, OpenAlert, QuestionFlag, SubsetSummary

__all__ = [
    "CacheDay",
    "CacheWindow",
    "DataHealth",
    "DifficultyPoint",
    "ErrorPoint",
    "ErrorSource",
    "FlagKind",
    "Headline",
    "HistoryPoint",
    "HsprEstimate",
    "HsprSources",
    "IndexEntry",
    "IndexPage",
    "JobRow",
    "LastFullRun",
    "MissingReason",
    "NightlyPage",
    "OpenAlert",
    "PartialEstimate",
    "QuestionFlag",
    "SubsetSummary",
    "TodaysError",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyPage:
    """One nightly report of one benchmark and agent family.

    Sequences may come in any order; `render_nightly` sorts them.

    Attributes
    ----------
    day : date
        UTC date the nightly run is keyed by.
    made_at : datetime
        When the page was made; the page has no other clock.
    n_questions : int
        Questions in the bank.
    interval_level : float
        Nominal coverage of the intervals, for example ``.9``.
    hspr : HsprSources or None
        None where the night has no sources for it.
    index_href : str or None
        Relative file name of the index page.
    """

    benchmark: str
    agent_family: str
    day: date
    made_at: datetime
    version: str
    bank_version: str
    n_questions: int
    headline: Headline
    history: tuple[HistoryPoint, ...] = ()
    partial_estimates: tuple[PartialEstimate, ...] = ()
    difficulty: tuple[DifficultyPoint, ...] = ()
    errors: tuple[ErrorPoint, ...] = ()
    cache: CacheWindow | None = None
    hspr: HsprSources | None = None
    flags: tuple[QuestionFlag, ...] = ()
    subsets: tuple[SubsetSummary, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    open_alerts: tuple[OpenAlert, ...] = ()
    interval_level: float = 0.9
    index_href: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, shares=("interval_level",), links=("index_href",))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One report in the index.

    Attributes
    ----------
    href : str
        Relative file name, as `report_file_name` makes it.
    pass_rate : float or None
        Last full pass rate shown on it.
    expected_error_pp : float or None
        First of the headline errors; ``error_label`` names it ("stratified, k 200").
    n_attention : int
        Points that ask for attention on that page (see `attention_points`).
    """

    benchmark: str
    agent_family: str
    day: date
    href: str
    pass_rate: float | None = None
    expected_error_pp: float | None = None
    error_label: str = ""
    cache_share: float | None = None
    n_attention: int = 0

    def __post_init__(self) -> None:
        check_fields(self, shares=("pass_rate", "cache_share"), links=("href",))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPage:
    """Reports of all benchmarks, or one page of them (see `index_pages`).

    Attributes
    ----------
    n_total : int
        Reports over all pages.
    newer_href, older_href : str or None
        Neighbouring pages.
    """

    made_at: datetime
    version: str
    entries: tuple[IndexEntry, ...]
    n_total: int
    page_number: int = 1
    n_pages: int = 1
    newer_href: str | None = None
    older_href: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, links=("newer_href", "older_href"))
