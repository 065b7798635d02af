"""The replay page as text: self-contained, escaped, deterministic, complete."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from reports.render import render_replay
from reports.replay_error import replay_error_chart
from reports.replay_page import MAX_COLOURED, ReplayPage, method_colours, ranked_methods
from reports.replay_strips import MAX_DOTS, best_against_others, target_errors_chart
from tests.reports.html_text import parse, remembered
from tests.reports.sample_page import HOSTILE
from tests.reports.sample_replay import METHODS, hostile_replay, sample_replay

rendering = remembered(render_replay)

PAGES = {
    "sample": sample_replay,
    "one budget": lambda: sample_replay(budgets={"10%": 52}),
    "one method": lambda: replace(sample_replay(methods=("random",)), comparisons=()),
    "groups": lambda: sample_replay(groups=("other families", "a", "b")),
}


@pytest.fixture(scope="module", params=PAGES)
def page(request) -> ReplayPage:
    return PAGES[request.param]()


def test_page_is_self_contained(page) -> None:
    document = parse(rendering(page))
    assert not {"script", "iframe", "object", "embed", "img", "base", "form"} & set(document.tags)
    for tag, key, value in document.attributes:
        assert not key.startswith("on")
        assert "://" not in value, (tag, key, value)
        if key in ("src", "href", "xlink:href"):
            assert value.startswith(("#", "data:,"))
        if "url(" in value:
            assert re.fullmatch(r"url\(#[\w-]+\)", value)


def test_page_has_its_charts_tables_and_sentences(page) -> None:
    document = parse(rendering(page))
    ids = [value for _, key, value in document.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    assert {"error", "runs", "differences"} <= set(ids)
    assert ("groups" in ids) == (len({row.group for row in page.rows}) > 1)
    n_charts = sum(tag == "svg" and key == "role" for tag, key, _ in document.attributes)
    assert n_charts == 2 + bool(page.comparisons) + ("groups" in ids)
    for sentence in page.advice.sentences:
        assert sentence in document.text
    assert "left out: these runs have no `started_at`" in " ".join(document.text.split())
    for row in page.rows:
        assert f"{row.metrics.mae_pp:.2f} pp" in document.text


def test_same_page_same_text_in_another_process() -> None:
    code = (
        "from reports.render import render_replay\n"
        "from tests.reports.sample_replay import sample_replay\n"
        "import hashlib\n"
        "print(hashlib.sha256(render_replay(sample_replay()).encode()).hexdigest())"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(hashes) == 1


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_unfriendly_names_stay_text(name: str) -> None:
    text = render_replay(hostile_replay(name))
    document = parse(text)
    assert not {"script", "img"} & set(document.tags)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u202e]", text)
    text.encode("utf-8")


def test_best_methods_and_the_baseline_have_colours_of_their_own() -> None:
    page = sample_replay()
    ranked = ranked_methods(page)
    assert ranked[0] == "rsl"
    assert ranked[-1] == "midrange"
    colours = method_colours(page)
    own = [method for method, colour in colours.items() if colour.startswith("series-")]
    assert len(own) == MAX_COLOURED
    assert len({colours[method] for method in own}) == MAX_COLOURED
    assert "random" in own
    assert colours["midrange"] == "line-strong"


def test_methods_that_decide_their_budget_rank_last() -> None:
    page = sample_replay()
    rows = tuple(replace(row, decides_budget=row.method == "rsl") for row in page.rows)
    assert ranked_methods(replace(page, rows=rows))[-1] == "rsl"


def test_a_far_off_method_leaves_the_scale_to_the_others_and_is_named() -> None:
    drawing = replay_error_chart(sample_replay())
    assert drawing.note == "Off the scale of the left chart: midrange."
    assert replay_error_chart(sample_replay(methods=METHODS[:-1])).note == ""


def test_many_runs_are_thinned_but_the_outermost_stay() -> None:
    page = sample_replay(methods=("random", "rsl"), n_targets=2000)
    drawing = target_errors_chart(page)
    assert drawing.svg.count("<title>run-") <= 2 * (MAX_DOTS + 1)
    assert "At most" in drawing.note
    for method in ("random", "rsl"):
        mine = sorted(page.targets(method), key=lambda t: t.first_error_pp)
        for target in (mine[0], mine[-1]):
            assert f"{target.run_id}, {method}" in drawing.svg


def test_differences_are_those_of_the_best_at_the_advised_budget() -> None:
    pairs = best_against_others(sample_replay())
    assert {pair.budget for pair in pairs} == {"200"}
    assert {pair.first for pair in pairs} == {"rsl"}
    assert len(pairs) == len(METHODS) - 1


def test_figures_that_are_not_defined_are_shown_as_unknown() -> None:
    page = sample_replay()
    undefined = {name: float("nan") for name in ("spearman", "kendall_tau", "coverage_90")}
    rows = tuple(replace(row, metrics=replace(row.metrics, **undefined)) for row in page.rows)
    text = render_replay(replace(page, rows=rows))
    assert not re.search(r"\b(NaN|nan)\b", text)
    assert "Rank correlation" not in text
