"""What one nightly report page shows: plain values, filled by jobs, drawn by `render`.

Units are the same everywhere: pass rates, shares and coverages are fractions in
``[0, 1]``; names that end in ``_pp`` are percentage points (``2.4`` means 2.4 pp);
times are timezone-aware, dates are UTC dates. A number that is not known is ``None``.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from reports.headline import Headline
from reports.section import Section


class PageSection(Protocol):
    """The values of one section, which know how they are shown.

    Values may come in any order; the section sorts them.
    """

    def section(self) -> Section:
        """Lay the section out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAlert:
    """An alert nobody has resolved yet."""

    rule: str
    opened_at: datetime
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyPage:
    """One nightly report of one benchmark and agent family.

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
    sections : tuple of PageSection
        In reading order.
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
    interval_level: float
    headline: Headline
    sections: tuple[PageSection, ...]
    open_alerts: tuple[OpenAlert, ...] = ()
    index_href: str | None = None
