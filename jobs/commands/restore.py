"""`recurring-eval restore`."""

from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    backup: Annotated[
        str | None,
        typer.Argument(
            metavar="BACKUP",
            help="A backup's path or name, or `last`; without it, they are listed.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Put a backup in the place of the history, whose files are set aside."""
    from jobs.app.app import start_app
    from jobs.restore import restore

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    done = restore(app, backup)
    text = [f"Restored {done.path} from {done.backup.name}."]
    if done.set_aside:
        text.append(f"What was there: {', '.join(file.name for file in done.set_aside)}.")
    if done.lost:
        text.append(f"Not in the backup: {done.lost}; import these again.")
    app.console.result(done, text)
