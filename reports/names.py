"""File names of reports, and the index cut into pages."""

import hashlib
import re
from collections.abc import Sequence
from datetime import date, datetime

from reports.context import IndexEntry, IndexPage

INDEX_NAME = "index.html"
ENTRIES_PER_PAGE = 200


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
