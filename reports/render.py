"""From page values to HTML text: no files written, no clock read."""

from datetime import UTC
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports import wording
from reports.attention import attention_points
from reports.context import IndexPage, NightlyPage
from reports.figures import figures
from reports.ledger_tables import (
    flag_groups,
    hspr_estimates_table,
    jobs_table,
    subsets_table,
    todays_errors_table,
)
from reports.replay_context import ReplayPage
from reports.replay_sections import replay_figures
from reports.summary import change_pp, error_matrix, leading_error

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
            change_pp=change_pp(page.headline),
            matrix=error_matrix(page.headline),
            leading=leading_error(page.headline),
            todays_errors=todays_errors_table(page),
            figures=figures(page),
            hspr_estimates=hspr_estimates_table(page),
            flag_groups=flag_groups(page),
            subsets=subsets_table(page),
            jobs=jobs_table(page),
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
        .render(page=page, figures=replay_figures(page))
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
        number=wording.number,
        percent=wording.percent,
        points=wording.points,
        signed_points=wording.signed_points,
    )
    return environment


def _showable(value: Any) -> Any:  # noqa: ANN401 - whatever a template prints
    from markupsafe import Markup

    if isinstance(value, str) and not isinstance(value, Markup):
        return wording.clean(value)
    return value
