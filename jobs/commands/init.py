"""`recurring-eval init`."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    folder: Annotated[
        Path,
        typer.Option("--dir", metavar="DIR", help="Project folder; created if missing."),
    ] = Path(),
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a commented recurring-eval.toml and an empty history."""
    from jobs.app.console import Console
    from jobs.clock import SystemClock
    from jobs.upkeep.start_project import start_project

    started = start_project(folder, now=SystemClock().now(), config=config)
    Console(as_json=as_json, quiet=quiet).result(
        started,
        [
            f"Wrote {started.config}",
            f"Made the empty history {started.history}",
            "Next: recurring-eval import FILE_OR_FOLDER --benchmark NAME",
        ],
    )
