"""`recurring-eval doctor`."""

from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    accept_loss: Annotated[
        str | None,
        typer.Option(metavar="WHY", help="Continue without lost commits; the reason is recorded."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check that everything stored is intact, and stays so; exit status 1 on a fault."""
    from jobs.app.console import EXIT_ERROR, Console
    from jobs.upkeep.own_packages import foreign_packages

    if foreign := foreign_packages():
        # What follows may not even be importable.
        Console(as_json=as_json).error(
            "; ".join(foreign) + "; install recurring-eval in an environment of its own"
        )
        raise typer.Exit(EXIT_ERROR)
    from jobs.app.app import start_app
    from jobs.upkeep.doctor import examine
    from recurring_eval.errors import InputError
    from storage.file.checkup import accept_loss as give_up

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    if accept_loss is not None:
        if not accept_loss.strip():
            raise InputError("--accept-loss needs the reason why the loss is accepted")
        history, reason = app.settings.history, accept_loss.strip()
        loss = give_up(history, reason=reason, now=app.clock.now())
        app.console.progress(f"given up: {loss.lost}" if loss else "nothing is lost")
    checkup = examine(app)
    app.console.result(checkup, checkup.text())
    if not checkup.ok:
        raise typer.Exit(EXIT_ERROR)
