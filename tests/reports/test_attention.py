"""What the page asks somebody on call to look at."""

from dataclasses import replace

import pytest

from reports.attention import attention_points
from reports.listings import JobLedger
from reports.nightly_page import NightlyPage, OpenAlert
from reports.render import render_nightly
from tests.reports.sample_page import MADE_AT, empty_page, part, sample_page, with_part


def with_health(**changes) -> NightlyPage:
    page = sample_page()
    health = replace(page.headline.health, **changes)
    return replace(page, headline=replace(page.headline, health=health))


def test_a_good_night_is_quiet():
    assert attention_points(sample_page()) == ()
    assert "Nothing needs attention" in render_nightly(sample_page())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"converged": False}, "did not converge"),
        ({"model_age_hours": 37.0}, "37 h old"),
        ({"converged": None, "model_age_hours": None}, "no calibration yet"),
    ],
)
def test_a_model_that_cannot_be_relied_on_is_serious(changes, words):
    (point,) = attention_points(with_health(**changes))
    assert point.serious
    assert words in point.text


def test_a_model_of_exactly_36_hours_is_fresh():
    assert attention_points(with_health(model_age_hours=36.0)) == ()


@pytest.mark.parametrize("changes", [{"valid_share": 0.89}, {"n_under_covered": 9}])
def test_poor_data_deserve_a_look(changes):
    (point,) = attention_points(with_health(**changes))
    assert not point.serious
    assert point.section == "health"


def test_only_the_newest_row_of_a_job_counts():
    page = sample_page()
    jobs = part(page, JobLedger).jobs
    assert any(row.status == "failed" for row in jobs)
    newest = max(jobs, key=lambda row: (row.job == "recalibrate", row.started_at))
    failed = replace(newest, status="failed", message="disk full")
    rows = (*(row for row in jobs if row is not newest), failed)
    (point,) = attention_points(with_part(page, JobLedger, jobs=rows))
    assert point.text == "The last recalibrate job failed: disk full"


def test_one_missed_interval_in_twelve_is_expected_but_the_leading_one_is_not():
    page = sample_page()
    assert sum(error.last_run_covered is False for error in page.headline.errors) == 1
    first, *others = page.headline.errors
    missed = (replace(first, last_run_covered=False), *others)
    (point,) = attention_points(replace(page, headline=replace(page.headline, errors=missed)))
    assert "2 of 12 estimates" in point.text
    assert "stratified at k 100" in point.text


def test_alerts_come_first_and_an_empty_history_says_so():
    alert = OpenAlert(rule="coverage", opened_at=MADE_AT, message="6 of 10 intervals missed")
    points = attention_points(replace(empty_page(), open_alerts=(alert,)))
    assert points[0].text.startswith("Open alert since 2026-11-28 03:12 UTC, coverage:")
    assert [point.serious for point in points] == [True, True, False]


def test_misses_that_the_level_promises_ask_for_no_attention():
    page = replace(sample_page(), interval_level=0.5)

    def points(n_missed: int):
        errors = page.headline.errors
        missed = tuple(replace(e, last_run_covered=i >= n_missed) for i, e in enumerate(errors))
        return attention_points(replace(page, headline=replace(page.headline, errors=missed)))

    assert len(page.headline.errors) == 12
    assert points(6) == ()
    assert points(10) == ()
    (point,) = points(11)
    assert "11 of 12 estimates" in point.text
