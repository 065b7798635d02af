"""`recurring-eval export`."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Made when missing.")],
    format: Annotated[  # noqa: A002  # the option's name
        str, typer.Option("--format", metavar="F", help="parquet or csv.")
    ] = "parquet",
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write every table to a file of its own."""
    from jobs.app.app import start_app
    from jobs.export_tables import export

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    tables = export(app, folder, format=format)
    text = [f"{table.n_rows:>12,}  {table.path}" for table in tables]
    app.console.result({"folder": folder, "tables": tables}, text)
