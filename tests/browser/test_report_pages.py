"""Report pages in a real browser: light, dark and on a phone."""

import json

import pytest

from reports.render import render_index, render_nightly, render_replay
from tests.browser.chromium import chromium, show
from tests.reports.sample_page import HOSTILE, empty_page, hostile_page, sample_index, sample_page
from tests.reports.sample_replay import hostile_replay, sample_replay

pytestmark = pytest.mark.browser

PAGES = {
    "sample": lambda: render_nightly(sample_page()),
    "empty": lambda: render_nightly(empty_page()),
    "hostile": lambda: render_nightly(hostile_page(HOSTILE[1] + HOSTILE[3] + HOSTILE[4])),
    "index": lambda: render_index(sample_index()),
    "replay": lambda: render_replay(sample_replay()),
    "replay-groups": lambda: render_replay(sample_replay(groups=("other families", "a", "b"))),
    "replay-hostile": lambda: render_replay(hostile_replay(HOSTILE[1] + HOSTILE[3] + HOSTILE[4])),
}

# Contrast of every visible text with the first opaque colour behind it (WCAG 2.2).
CONTRAST = """
const channel = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const luminance = c => .2126 * channel(c[0]) + .7152 * channel(c[1]) + .0722 * channel(c[2]);
const behind = e => {
  for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return rgb(getComputedStyle(document.body).backgroundColor);
};
const poor = [];
let seen = 0;
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || ['title', 'desc'].includes(e.tagName) || !e.checkVisibility()) continue;
  const style = getComputedStyle(e);
  const front = rgb(e instanceof SVGElement ? style.fill : style.color);
  const [a, b] = [luminance(front), luminance(behind(e))];
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  seen += 1;
  if (ratio < 4.5) poor.push([e.tagName, e.textContent.slice(0, 40), ratio]);
}
return [seen, poor];
"""

MARKS = """
return [...document.querySelectorAll('.chart svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  const fills = new Set([...svg.querySelectorAll('path, rect')].flatMap(
    e => [getComputedStyle(e).fill, getComputedStyle(e).stroke]));
  fills.delete('none');
  return [box.width, box.height, [...fills].sort()];
});
"""


@pytest.fixture(scope="module")
def session():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for name, render in PAGES.items():
        (folder / f"{name}.html").write_text(render(), encoding="utf-8")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 400])
@pytest.mark.parametrize("name", PAGES)
def test_page_fits_is_silent_and_readable(session, files, name, width, scheme):
    show(session, files / f"{name}.html", scheme=scheme, width=width)
    session.execute_script("for (const d of document.querySelectorAll('details')) d.open = true;")
    inner, document_width = session.execute_script(
        "return [innerWidth, document.documentElement.scrollWidth]"
    )
    assert inner == width
    assert document_width <= width
    assert session.get_log("browser") == []
    seen, poor = session.execute_script(CONTRAST)
    assert seen > 10
    assert poor == []


def test_charts_are_visible_and_follow_the_scheme(session, files):
    colours = {}
    for scheme in ("light", "dark"):
        show(session, files / "sample.html", scheme=scheme, width=1280)
        charts = session.execute_script(MARKS)
        assert len(charts) == 4
        for width, height, fills in charts:
            assert width > 600
            assert height > 100
            assert len(fills) >= 2
        colours[scheme] = {fill for *_, fills in charts for fill in fills}
    assert not colours["light"] & colours["dark"]


def test_a_time_chart_on_a_phone_starts_at_the_newest(session, files):
    show(session, files / "sample.html", scheme="light", width=400)
    right_edges = session.execute_script(
        "return [...document.querySelectorAll('.from-end')].map(box => "
        "[box.getBoundingClientRect().right, box.firstElementChild.getBoundingClientRect().right])"
    )
    assert len(right_edges) == 2
    for box, svg in right_edges:
        assert svg == pytest.approx(box, abs=1)


def test_every_scroll_box_and_fold_is_reached_by_keyboard(session, files):
    show(session, files / "sample.html", scheme="light", width=400)
    unreachable = session.execute_script(
        "return [...document.querySelectorAll('.scroll, summary, a')]"
        ".filter(e => e.checkVisibility() && e.tabIndex < 0).length"
    )
    assert unreachable == 0


def test_printing_uses_dark_on_white_whatever_the_scheme(session, files):
    show(session, files / "sample.html", scheme="dark", width=1280)
    session.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    seen, poor = session.execute_script(CONTRAST)
    background = session.execute_script("return getComputedStyle(document.body).backgroundColor")
    session.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert background == "rgb(255, 255, 255)"
    assert seen > 50
    assert poor == [], json.dumps(poor)
