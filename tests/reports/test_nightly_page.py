"""The nightly page as text: self-contained, escaped, deterministic, in budget."""

import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from recurring_eval.records import RunKind
from reports.cache import CacheWindow
from reports.difficulty import DifficultyMap
from reports.error_against_k import ErrorsByK
from reports.listings import FlaggedQuestions, HsprSources, JobLedger, PublishedSubsets
from reports.nightly_page import NightlyPage
from reports.render import render_nightly
from reports.run_history import RunHistory
from tests.reports.html_text import parse, remembered
from tests.reports.sample_page import (
    HOSTILE,
    empty_page,
    hostile_page,
    part,
    sample_page,
    with_part,
)

SECTIONS = (
    "history",
    "error",
    "difficulty",
    "cache",
    "hspr",
    "questions",
    "subsets",
    "jobs",
    "health",
)

rendering = remembered(render_nightly)


def one_run_page() -> NightlyPage:
    page = sample_page(n_runs=8, n_questions=3)
    for kind, name in (
        (RunHistory, "runs"),
        (DifficultyMap, "questions"),
        (ErrorsByK, "points"),
        (CacheWindow, "days"),
    ):
        page = with_part(page, kind, **{name: getattr(part(page, kind), name)[:1]})
    return with_part(page, RunHistory, estimates=())


@pytest.fixture(scope="module", params=["sample", "empty", "one run", "long", "partial only"])
def page(request) -> NightlyPage:
    if request.param == "partial only":
        page = sample_page()
        partial = tuple(
            replace(s, run=replace(s.run, kind=RunKind.PARTIAL))
            for s in part(page, RunHistory).runs
        )
        return with_part(with_part(page, RunHistory, runs=partial), CacheWindow, days=())
    if request.param == "one run":
        return one_run_page()
    return {
        "sample": sample_page,
        "empty": empty_page,
        "long": lambda: sample_page(n_runs=600),
    }[request.param]()


def test_page_is_self_contained(page):
    document = parse(rendering(page))
    assert not {"script", "iframe", "object", "embed", "img", "base", "form"} & set(document.tags)
    for tag, key, value in document.attributes:
        assert not key.startswith("on")
        assert "://" not in value, (tag, key, value)
        if key in ("src", "href", "xlink:href"):
            assert value.startswith(("#", "data:,")) or value == "index.html"
        if "url(" in value:
            assert re.fullmatch(r"url\(#[\w-]+\)", value)


def test_page_forbids_everything_it_does_not_need(page):
    policies = [v for tag, key, v in parse(rendering(page)).attributes if "default-src" in v]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_ids_are_distinct_and_references_resolve(page):
    attributes = parse(rendering(page)).attributes
    ids = [value for _, key, value in attributes if key == "id"]
    assert len(ids) == len(set(ids))
    wanted = [value[1:] for _, key, value in attributes if key == "href" and value[0] == "#"]
    wanted += [
        name
        for _, key, value in attributes
        if key in ("aria-labelledby", "aria-describedby")
        for name in value.split()
    ]
    wanted += [value[5:-1] for _, _, value in attributes if value.startswith("url(#")]
    assert set(wanted) <= set(ids)
    assert set(SECTIONS) <= set(ids)


def test_no_undefined_number_is_shown(page):
    rendered = rendering(page)
    visible = re.sub(r"<style>.*?</style>", "", rendered, flags=re.S)
    assert not re.search(r"\b(NaN|nan|Infinity|inf|undefined|None|null)\b", visible)


def test_page_is_the_same_text_every_time_and_in_any_order(page):
    shuffled = page
    for kind, name in (
        (RunHistory, "runs"),
        (RunHistory, "estimates"),
        (DifficultyMap, "questions"),
        (ErrorsByK, "points"),
        (CacheWindow, "days"),
        (FlaggedQuestions, "flags"),
        (PublishedSubsets, "subsets"),
        (JobLedger, "jobs"),
    ):
        values = getattr(part(page, kind), name)
        shuffled = with_part(shuffled, kind, **{name: values[::-1]})
    rendered = rendering(page)
    assert rendered == render_nightly(page)
    assert rendered == render_nightly(shuffled)


def test_another_process_in_another_zone_writes_the_same_text():
    program = (
        "import hashlib; from reports.render import render_nightly;"
        "from tests.reports.sample_page import sample_page;"
        "print(hashlib.sha256(render_nightly(sample_page()).encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={"TZ": zone, "PYTHONHASHSEED": seed, "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone, seed in (("UTC", "1"), ("America/Los_Angeles", "2"))
    }
    assert len(digests) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    rendered = rendering(hostile_page(name))
    tame = parse(rendering(hostile_page("tame")))
    document = parse(rendered)
    assert document.tags == tame.tags
    assert [key for _, key, _ in document.attributes] == [key for _, key, _ in tame.attributes]
    rendered.encode()
    assert not re.search(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", rendered
    )


def test_readable_hostile_names_are_shown_as_they_are():
    for name in (HOSTILE[0], HOSTILE[1], HOSTILE[2]):
        document = parse(rendering(hostile_page(name)))
        assert document.texts.count(name) >= 20
        hovers = [text for text in document.texts if text.startswith(f"{name}: difficulty")]
        assert len(hovers) == 40


def test_one_full_run_and_one_question_draw_without_a_fault():
    assert rendering(one_run_page()).count("<figure") == 4


def test_an_empty_history_says_what_to_do_in_every_section():
    document = parse(rendering(empty_page()))
    empties = [1 for _, key, value in document.attributes if (key, value) == ("class", "empty")]
    assert len(empties) == 8
    assert "No full run yet" in document.text
    assert "svg" not in document.tags


def test_long_history_stays_in_budget_and_counts_what_is_cut():
    page = sample_page(n_runs=600)
    rendering(page)
    start = time.process_time()
    rendered = render_nightly(page)
    assert time.process_time() - start < 3
    assert len(rendered.encode()) < 2_000_000
    text = parse(rendered).text
    assert "400 older runs not listed here" in text
    assert "600 full runs: each dot is the mean of one day" in text
    assert rendered.count("<tr") < 2_000


def test_a_bank_of_5000_questions_with_long_names_stays_in_budget():
    page = sample_page(n_questions=5000)
    long_names = tuple(
        replace(point, question_id=f"{place:05d}" + "<&>" * 300)
        for place, point in enumerate(part(page, DifficultyMap).questions)
    )
    rendered = rendering(with_part(page, DifficultyMap, questions=long_names))
    assert len(rendered.encode()) < 2_000_000
    assert "4,400 easier questions not listed here" in rendered


def test_headline_says_the_figures_in_words():
    page = sample_page()
    text = re.sub(r"\s+", " ", parse(rendering(page)).text)
    last = page.headline.last_full_run
    assert f"{100 * last.pass_rate:.1f}%" in text
    assert "2.3 pp off on average when 100 questions are asked" in text
    assert "the estimate ± 5.5 pp" in text
    assert "41.8% of the questions are settled" in text
    assert "97.1% of the expected verdicts are valid" in text
    assert "converged in 7 steps" in text


def test_the_sources_of_hspr_are_told_with_how_they_were_chosen():
    page = sample_page()
    text = re.sub(r"\s+", " ", parse(rendering(page)).text)
    assert "Sources 27 full runs" in text
    assert "Groups 431 of questions that no source tells apart, out of 519 questions" in text
    assert "Passed by no source 13.7% of the questions" in text
    assert "Several settings averaged" in text
    assert part(page, HsprSources).configuration in text
    rows = re.findall(r"(release-\d+) \S+ \S+ UTC 100 (\S+%) (\S+%) (\S+) pp( unlike)?", text)
    assert rows[:2] == [
        ("release-4000", "81.0%", "0.0%", "+0.4", ""),
        ("release-4001", "74.0%", "2.0%", "+0.1", ""),
    ]
    assert [row[0] for row in rows if row[4]] == ["release-4003"]
    staged = with_part(page, HsprSources, n_held_out=27, selection_mae_pp=2.13, estimates=())
    text = re.sub(r"\s+", " ", parse(rendering(staged)).text)
    assert "Chosen on 27 held-out sources, mean error there 2.1 pp." in text
    assert "Several settings averaged" not in text
    assert "No run has been estimated by hspr yet" in text


def test_every_figure_says_how_to_read_it_and_has_its_numbers_in_a_table():
    document = parse(rendering(sample_page()))
    assert document.tags.count("figure") == 4
    readings = [v for _, k, v in document.attributes if k == "id" and v.endswith("-reading")]
    assert len(readings) == 4
    assert document.tags.count("caption") == document.tags.count("details") + 2
    scopes = [value for tag, key, value in document.attributes if (tag, key) == ("th", "scope")]
    assert len(scopes) == document.tags.count("th")


def test_all_questions_of_a_usual_bank_are_drawn_and_listed():
    page = sample_page()
    document = parse(rendering(page))
    for point in part(page, DifficultyMap).questions[::50]:
        assert point.question_id in document.texts
        assert any(text.startswith(f"{point.question_id}: ") for text in document.texts)


@pytest.mark.parametrize("n_runs", [2, 6, 9, 52, 330])
def test_labels_of_a_time_axis_are_distinct(n_runs):
    page = sample_page(n_runs=n_runs)
    texts = parse(rendering(page)).texts
    labels = [text for text in texts if re.fullmatch(r"[A-Z][a-z]{2} (\d\d|\d{4})", text)]
    history, cache = labels[: len(labels) // 2], labels[len(labels) // 2 :]
    for axis in (history, cache) if n_runs < 10 else (history[:4], cache[-4:]):
        assert len(axis) == len(set(axis))
    assert labels


def test_a_method_without_coverage_still_shows_its_error_at_full_width():
    page = sample_page()
    points = part(page, ErrorsByK).points
    bare = tuple(replace(error, coverage=None) for error in points)
    rendered = rendering(with_part(page, ErrorsByK, points=bare))
    assert "Intervals that held the score" not in rendered
    widths = [int(w) for w in re.findall(r'<svg viewBox="[^"]*" width="(\d+)"', rendered)]
    assert len(widths) == 4
    assert min(widths) >= 640


def test_intervals_are_named_by_their_level():
    page = replace(sample_page(), interval_level=0.975)
    page = with_part(page, ErrorsByK, level=0.975)
    assert "line the 90% interval" in rendering(page)
    first, *others = part(page, RunHistory).estimates
    other = replace(first, estimate=replace(first.estimate, level=0.975))
    for estimates, words in (
        ((other,), "line the 97.5% interval"),
        ((other, *others), "line the interval, at the level that the table names"),
    ):
        rendered = rendering(with_part(page, RunHistory, estimates=estimates))
        assert words in rendered
        assert "Its 97.5% interval" in rendered
        assert "(aim: 97.5%)" in rendered
