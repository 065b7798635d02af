"""Page values are checked when they are built."""

import math
from dataclasses import replace
from datetime import datetime

import pytest

from recurring_eval.errors import InputError
from reports.context import CacheDay
from tests.reports.sample_page import DAY, sample_index, sample_page


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_place(value):
    error = sample_page().errors[0]
    with pytest.raises(InputError, match=r"`bias_pp` of ErrorPoint.*use None"):
        replace(error, bias_pp=value)


@pytest.mark.parametrize("value", [-0.01, 1.01, 62.4])
def test_shares_are_fractions(value):
    with pytest.raises(InputError, match=r"`pass_rate`.*fraction"):
        replace(sample_page().history[0], pass_rate=value)


def test_what_is_said_of_hspr_is_checked_too():
    sources = sample_page().hspr
    with pytest.raises(InputError, match=r"`source_zero_share` of HsprSources.*fraction"):
        replace(sources, source_zero_share=13.7)
    with pytest.raises(InputError, match=r"`effective_sample_size` of HsprEstimate.*fraction"):
        replace(sources.estimates[0], effective_sample_size=1.2)
    with pytest.raises(InputError, match=r"`shift_pp` of HsprEstimate.*use None"):
        replace(sources.estimates[0], shift_pp=math.nan)
    with pytest.raises(InputError, match="not negative"):
        replace(sources, n_held_out=-1)


def test_naive_times_and_negative_counts_are_refused():
    point = sample_page().history[0]
    with pytest.raises(InputError, match="time zone"):
        replace(point, started_at=datetime(2026, 1, 1))  # noqa: DTZ001 - the fault under test
    with pytest.raises(InputError, match="not negative"):
        replace(point, n_valid=-1)


def test_an_estimate_lies_inside_its_interval():
    estimate = sample_page().partial_estimates[0]
    with pytest.raises(InputError, match="outside its interval"):
        replace(estimate, low=estimate.estimate + 0.01)


@pytest.mark.parametrize(
    "href", ["https://x.example/a", "//x/a.html", "javascript:x", "../a.html", "/a.html", "a b", ""]
)
def test_links_are_file_names_beside_the_page(href):
    with pytest.raises(InputError, match="file name beside the page"):
        replace(sample_page(), index_href=href)
    with pytest.raises(InputError, match="file name beside the page"):
        replace(sample_index().entries[0], href=href)


def test_a_cache_day_without_questions_is_allowed():
    day = CacheDay(
        day=DAY,
        share_cached=0.0,
        n_settled_pass=0,
        n_settled_fail=0,
        n_unsettled=0,
        n_too_few=0,
    )
    assert day.share_cached == 0
