"""`recurring-eval backup`."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Keep the N newest [default: the configured]."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder [default: the configured].", show_default=False),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Copy the history while it is in use, and verify the copy."""
    from jobs.app.app import start_app
    from jobs.upkeep.back_up import back_up

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    done = back_up(app, folder=to, keep=keep)
    text = [f"Backed up to {done.backup} ({done.n_bytes / 1e6:.1f} MB), verified."]
    if done.removed:
        text.append(f"Removed {len(done.removed)} older backups.")
    app.console.result(done, text)
