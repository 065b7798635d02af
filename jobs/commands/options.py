"""The options that commands share, and how the values of options are read.

Every command takes ``config: ConfigOption = None, as_json: JsonOption = False,
quiet: QuietOption = False`` and hands them to `jobs.app.app.start_app`.
"""

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from recurring_eval.errors import InputError

if TYPE_CHECKING:
    from recurring_eval.records import RunPurpose

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration [default: the nearest recurring-eval.toml upwards].",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout.", show_default=False)
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="No progress and no notes.", show_default=False)
]
BenchmarkOption = Annotated[
    str | None, typer.Option("--benchmark", metavar="B", help="Only this benchmark.")
]
FamilyOption = Annotated[
    str | None, typer.Option("--agent-family", metavar="F", help="Only this agent family.")
]

_FIRST_YEAR: Final = 1970


def read_date(text: str, option: str) -> date:
    """Read an ISO date.

    Raises
    ------
    InputError
        If it is none, or before 1970, where no run can be.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text!r} is not a date; write it as 2026-11-29") from None
    if day.year < _FIRST_YEAR:
        raise InputError(f"{option} {text} is before {_FIRST_YEAR}; no run is that old")
    return day


def start_of(text: str, option: str) -> datetime:
    """First instant (UTC) of an ISO date."""
    return datetime.combine(read_date(text, option), time(), tzinfo=UTC)


def read_purpose(text: str | None) -> "RunPurpose | None":
    """Read the purpose of a run; None stays None.

    Raises
    ------
    InputError
        Listing the purposes.
    """
    from recurring_eval.records import RunPurpose

    if text is None:
        return None
    if text not in list(RunPurpose):
        raise InputError(f"no purpose is called {text!r}; choose from {', '.join(RunPurpose)}")
    return RunPurpose(text)
