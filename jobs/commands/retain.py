"""`recurring-eval retain`."""

from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    days: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="In place of the configured number of days."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Move verdicts of old runs to Parquet files beside the history, where they stay readable."""
    from jobs.app.app import start_app
    from jobs.retain import retain

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    moved = retain(app, days=days)
    where = f" to {moved.path}" if moved.path is not None else ""
    app.console.result(
        moved, f"Moved {moved.n_verdicts:,} verdicts of {moved.n_runs:,} runs{where}."
    )
