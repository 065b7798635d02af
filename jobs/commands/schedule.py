"""`recurring-eval schedule`."""

from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[print systemd|cron]",
            help="Print the files for another scheduler instead.",
            show_default=False,
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Do what is due now, and end.", show_default=False)
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run as a daemon: nights, reports, backups, planned full runs and watched folders."""
    from jobs.app.app import start_app
    from jobs.app.console import EXIT_ERROR
    from jobs.schedule.external_schedulers import schedule_files
    from jobs.schedule.worker import start_logging
    from jobs.scheduler import run_once, run_scheduler

    if words is not None and words and (words[0] != "print" or len(words) != 2):
        raise typer.BadParameter("write `schedule`, or `schedule print systemd|cron`")
    app = start_app(config=config, as_json=as_json, quiet=quiet)
    if words:
        text = schedule_files(app, words[1])
        app.console.result({"kind": words[1], "text": text}, text)
        return
    start_logging(quiet=quiet)
    if not once:
        run_scheduler(app)
    elif not run_once(app):
        raise typer.Exit(EXIT_ERROR)
