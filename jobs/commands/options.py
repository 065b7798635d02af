"""The options every command has.

A command takes ``config: ConfigOption = None, as_json: JsonOption = False,
quiet: QuietOption = False`` and hands them to `jobs.app.app.start_app`.
"""

from pathlib import Path
from typing import Annotated

import typer

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
