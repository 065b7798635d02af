"""The index over nightly reports: its entries, its pages, and the names of the files."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from recurring_eval.errors import InputError

INDEX_NAME = "index.html"
ENTRIES_PER_PAGE = 200
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One report in the index, as a file beside the report keeps it.

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

    Raises
    ------
    InputError
        If a number is not one that can be shown or the link is more than a file name, so
        that no index ever points elsewhere.
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
        for name in ("pass_rate", "cache_share"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise InputError(f"`{name}` of {self.href} is {share}; it is a fraction in [0, 1]")
        error = self.expected_error_pp
        if error is not None and not math.isfinite(error):
            raise InputError(f"`expected_error_pp` of {self.href} is {error}; use None")
        if self.n_attention < 0:
            raise InputError(f"`n_attention` of {self.href} is {self.n_attention}; not negative")
        if not _FILE_NAME.fullmatch(self.href):
            raise InputError(f"`href` is {self.href!r}; use a file name beside the page")


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


def report_file_name(benchmark: str, agent_family: str, day: date) -> str:
    """File name of a nightly report; names that only look alike never share one."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{benchmark}-{agent_family}".lower()).strip("-")[:60]
    identity = f"{len(benchmark)}:{benchmark}{agent_family}".encode(errors="backslashreplace")
    return f"{slug or 'report'}-{hashlib.sha256(identity).hexdigest()[:8]}-{day.isoformat()}.html"


def index_pages(
    entries: Sequence[IndexEntry], *, made_at: datetime, version: str
) -> dict[str, IndexPage]:
    """Newest reports first, `ENTRIES_PER_PAGE` to a page.

    Returns
    -------
    dict of str to IndexPage
        Page by file name; the first is ``index.html`` and exists without entries.
    """
    by_name = sorted(entries, key=lambda entry: (entry.benchmark, entry.agent_family))
    newest = sorted(by_name, key=lambda entry: entry.day, reverse=True)
    n_pages = max(1, -(-len(newest) // ENTRIES_PER_PAGE))
    names = [INDEX_NAME, *(f"index-{place}.html" for place in range(2, n_pages + 1))]
    return {
        name: IndexPage(
            made_at=made_at,
            version=version,
            entries=tuple(newest[place * ENTRIES_PER_PAGE : (place + 1) * ENTRIES_PER_PAGE]),
            n_total=len(newest),
            page_number=place + 1,
            n_pages=n_pages,
            newer_href=names[place - 1] if place else None,
            older_href=names[place + 1] if place + 1 < n_pages else None,
        )
        for place, name in enumerate(names)
    }
