"""From an Altair chart to inline SVG: no scripts, no links, colours from the page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

from reports.wording import clean

if TYPE_CHECKING:
    import altair as alt

CHART_WIDTH = 760
LEAST_WIDTH = 640

Swatch = Literal["dot", "ring", "diamond", "square", "line", "dashed", "interval"]

_CLIP = re.compile(r"clip\d+")
_TEXT = "var(--text)"
_MUTED = "var(--muted)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendItem:
    """One entry of a legend, drawn by the template.

    Attributes
    ----------
    colour : str
        Name of a page colour, e.g. ``series-1``.
    """

    label: str
    swatch: Swatch
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A chart ready for the page.

    Attributes
    ----------
    svg : str
        Complete ``<svg>`` element.
    legend : tuple of LegendItem
    note : str
        What was aggregated or left out of the drawing; empty if nothing was.
    """

    svg: str
    legend: tuple[LegendItem, ...]
    note: str = ""


def colour(name: str) -> str:
    """CSS reference to a page colour, so that one SVG serves light and dark."""
    return f"var(--{name})"


def inline_data(rows: Sequence[Mapping[str, object]]) -> "alt.InlineData":
    """Rows as they stand in the chart; nothing is fetched, no frame is built."""
    import altair as alt

    return alt.InlineData(values=list(rows))


def time_axis(first_ms: int, last_ms: int) -> "alt.Axis":
    """Axis of UTC days with distinct labels over the range, in epoch milliseconds."""
    import altair as alt

    day = 86_400_000
    n_days = (last_ms - first_ms) / day
    if n_days < 10:
        midnights = list(range(-(-first_ms // day) * day, last_ms + 1, day))
        return alt.Axis(grid=False, values=midnights, format="%b %d")
    return alt.Axis(grid=False, tickCount=8, format="%b %Y" if n_days > 300 else "%b %d")


def to_svg(
    chart: "alt.Chart | alt.LayerChart | alt.HConcatChart", *, name: str, title: str, summary: str
) -> str:
    """Render `chart` as an accessible inline SVG element.

    Parameters
    ----------
    chart : altair chart
        Texts in its ``description`` channel become hover titles.
    name : str
        Distinct on the page; prefixes the ids inside the SVG.
    title, summary : str
        Read aloud in place of the picture.

    Returns
    -------
    str
        The same bytes for the same chart.
    """
    import altair as alt
    import vl_convert

    spec = chart.to_dict()
    spec["config"] = _config()
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    source = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
    root = ElementTree.fromstring(source)  # noqa: S314 - made by the renderer, no DTD
    _strip(root)
    _give_own_ids(root, name)
    width = int(root.get("width", "0"))
    root.attrib = {
        "viewBox": root.get("viewBox", ""),
        "width": str(width),
        "height": root.get("height", ""),
        "style": f"max-width:{width}px;min-width:{min(width, LEAST_WIDTH)}px",
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-desc",
    }
    for position, (tag, text) in enumerate((("title", title), ("desc", summary))):
        element = ElementTree.Element(tag, {"id": f"{name}-{tag}"})
        element.text = clean(text)
        root.insert(position, element)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _config() -> dict[str, object]:
    axis = {
        "labelColor": _MUTED,
        "titleColor": _MUTED,
        "domainColor": colour("line-strong"),
        "tickColor": colour("line-strong"),
        "gridColor": colour("line"),
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelPadding": 4,
        "tickSize": 4,
    }
    return {
        "background": None,
        "font": "system-ui, sans-serif",
        "padding": 4,
        "view": {"stroke": None},
        "axis": axis,
        "title": {
            "color": _TEXT,
            "fontSize": 13,
            "fontWeight": 600,
            "anchor": "start",
            "frame": "group",
            "offset": 12,
        },
    }


def _strip(element: ElementTree.Element) -> None:
    """Drop namespaces, the renderer's own roles and everything that could act."""
    element.tag = element.tag.rpartition("}")[2]
    label = element.get("aria-label")
    element.attrib = {
        key: value
        for key, value in element.attrib.items()
        if "}" not in key
        and key != "class"
        and not key.startswith(("aria-", "role", "on"))
        and key not in ("href", "pointer-events")
    }
    for child in list(element):
        _strip(child)
        hidden = child.get("display") == "none" or child.tag in ("script", "a", "foreignObject")
        if hidden or child.get("d") == "M0,0h0v0h0Z":
            element.remove(child)
    if label is not None and element.tag in ("path", "line", "rect"):
        title = ElementTree.SubElement(element, "title")
        title.text = label


def _give_own_ids(root: ElementTree.Element, name: str) -> None:
    """Rename clip paths: the renderer counts them over the whole process."""
    names: dict[str, str] = {}

    def own(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"{name}-clip{len(names)}")

    for element in root.iter():
        for key in ("id", "clip-path"):
            if key in element.attrib:
                element.set(key, _CLIP.sub(own, element.attrib[key]))
