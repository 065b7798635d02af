"""The index over reports: newest first, cut into pages, links that stay in the folder."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from recurring_eval.errors import InputError
from reports.index_page import ENTRIES_PER_PAGE, IndexPage, index_pages, report_file_name
from reports.render import render_index
from tests.reports.html_text import parse
from tests.reports.sample_page import DAY, HOSTILE, MADE_AT, sample_index


def links(rendered: str) -> list[str]:
    return [value for tag, key, value in parse(rendered).attributes if (tag, key) == ("a", "href")]


def test_pages_hold_every_report_once_newest_first():
    entries = sample_index(450).entries
    pages = index_pages(entries[::-1], made_at=MADE_AT, version="0.1.0")
    assert list(pages) == ["index.html", "index-2.html", "index-3.html"]
    assert [entry for page in pages.values() for entry in page.entries] == list(entries)
    assert all(len(page.entries) <= ENTRIES_PER_PAGE for page in pages.values())


def test_pages_lead_to_their_neighbours():
    pages = index_pages(sample_index(450).entries, made_at=MADE_AT, version="0.1.0")
    assert "index-2.html" in links(render_index(pages["index.html"]))
    second = links(render_index(pages["index-2.html"]))
    assert {"index.html", "index-3.html"} <= set(second)


def test_no_report_yet_still_makes_an_index():
    pages = index_pages((), made_at=MADE_AT, version="0.1.0")
    assert list(pages) == ["index.html"]
    assert "No report yet" in render_index(pages["index.html"])


def test_5000_reports_stay_in_budget():
    pages = index_pages(sample_index(5000).entries, made_at=MADE_AT, version="0.1.0")
    assert max(len(render_index(page).encode()) for page in pages.values()) < 200_000


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    def named(text: str) -> IndexPage:
        page = sample_index(3)
        entries = (
            replace(e, benchmark=text, agent_family=text, error_label=text) for e in page.entries
        )
        return replace(page, entries=tuple(entries), version=text)

    rendered = render_index(named(name))
    assert parse(rendered).tags == parse(render_index(named("tame"))).tags
    rendered.encode()


def test_file_names_are_plain_and_never_shared():
    names = [*HOSTILE, "", "a b", "a-b", "A B", "a/b", "../../etc/passwd", "ab"]
    pairs = [(first, second) for first in names for second in ("main", "", *names[:3])]
    pairs += [("a", "bc"), ("ab", "c")]
    files = {report_file_name(*pair, DAY) for pair in pairs}
    assert len(files) == len(set(pairs))
    for name in files:
        replace(sample_index(1).entries[0], href=name)
        assert len(name) < 120


def test_file_names_of_nights_sort_by_night():
    nights = [report_file_name("b", "main", DAY + timedelta(days=step)) for step in range(60)]
    assert nights == sorted(nights)


@pytest.mark.parametrize("value", [-0.01, 1.01, 62.4, math.nan, math.inf])
@pytest.mark.parametrize("name", ["pass_rate", "cache_share"])
def test_shares_of_an_entry_are_fractions(name, value):
    with pytest.raises(InputError, match=f"`{name}`.*fraction"):
        replace(sample_index(1).entries[0], **{name: value})


@pytest.mark.parametrize("change", [{"expected_error_pp": math.nan}, {"n_attention": -1}])
def test_numbers_that_an_index_cannot_show_are_refused(change):
    with pytest.raises(InputError, match=r"use None|not negative"):
        replace(sample_index(1).entries[0], **change)


@pytest.mark.parametrize(
    "href", ["https://x.example/a", "//x/a.html", "javascript:x", "../a.html", "/a.html", "a b", ""]
)
def test_links_are_file_names_beside_the_page(href):
    with pytest.raises(InputError, match="file name beside the page"):
        replace(sample_index(1).entries[0], href=href)
