"""From page values to HTML text: no files written, no clock read."""

import html
import re
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports import wording
from reports.attention import attention_points
from reports.headline import error_matrix, todays_errors_table
from reports.index_page import IndexPage
from reports.nightly_page import NightlyPage
from reports.replay_page import ReplayPage
from reports.replay_sections import replay_sections

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


def render_nightly(page: NightlyPage) -> str:
    """Render one nightly report as a self-contained HTML document.

    Parameters
    ----------
    page : NightlyPage

    Returns
    -------
    str
        The same text for the same page. It has no script and refers to nothing
        outside itself but `page.index_href`.
    """
    return (
        _environment()
        .get_template("nightly.html.j2")
        .render(
            page=page,
            headline=page.headline,
            attention=attention_points(page),
            matrix=error_matrix(page.headline),
            todays_errors=todays_errors_table(page.headline),
            sections=[part.section() for part in page.sections],
        )
    )


def render_index(page: IndexPage) -> str:
    """Render one page of the index over reports, newest first.

    Parameters
    ----------
    page : IndexPage
        As `index_pages` cuts them.

    Returns
    -------
    str
        Complete HTML document; its links are file names beside it.
    """
    return _environment().get_template("index.html.j2").render(page=page)


def render_replay(page: ReplayPage) -> str:
    """Render the page of one replay as a self-contained HTML document.

    Parameters
    ----------
    page : ReplayPage

    Returns
    -------
    str
        The same text for the same page; it refers to nothing outside itself.
    """
    return (
        _environment()
        .get_template("replay.html.j2")
        .render(page=page, sections=replay_sections(page))
    )


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_showable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        age=wording.age,
        counted=wording.counted,
        day=wording.day,
        decimal=wording.decimal,
        iso=lambda at: at.astimezone(UTC).isoformat(timespec="seconds"),
        moment=wording.moment,
        nominal=wording.nominal,
        number=wording.number,
        percent=wording.percent,
        points=wording.points,
        signed_points=wording.signed_points,
        with_code=_with_code,
    )
    return environment


def _showable(value: Any) -> Any:  # noqa: ANN401 - whatever a template prints
    from markupsafe import Markup

    if isinstance(value, str) and not isinstance(value, Markup):
        return wording.clean(value)
    return value


def _with_code(text: str) -> str:
    """Escape a text and set in the font of code what stands in backquotes."""
    from markupsafe import Markup

    escaped = html.escape(wording.clean(text), quote=False)
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escaped))  # noqa: S704 - escaped above
