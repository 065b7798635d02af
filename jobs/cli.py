"""The command line. Heavy modules are imported by the commands when they run."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jobs.app.console import EXIT_ERROR, Console, debugging, explain_unexpected
from jobs.commands import (
    adaptive,
    check,
    demo,
    doctor,
    estimate,
    history,
    import_,
    init,
    recalibrate,
    replay,
    report,
    schedule,
    status,
    subset,
)
from jobs.commands.options import ConfigOption, JsonOption, QuietOption
from recurring_eval.errors import RecurringEvalError

COMMANDS: tuple[tuple[str, Callable[..., None] | typer.Typer], ...] = (
    ("demo", demo.run),
    ("init", init.run),
    ("import", import_.run),
    ("recalibrate", recalibrate.run),
    ("subset", subset.run),
    ("estimate", estimate.run),
    ("adaptive", adaptive.group),
    ("check", check.run),
    ("replay", replay.run),
    ("report", report.run),
    ("schedule", schedule.run),
    ("status", status.run),
    ("doctor", doctor.run),
    ("backup", history.backup),
    ("restore", history.restore),
    ("migrate", history.migrate),
    ("export", history.export),
    ("compact", history.compact),
    ("retain", history.retain),
    ("revisions", history.revisions),
)
"""Every command with its function or group of sub-commands, in the order of ``--help``."""


class CommandGroup(TyperGroup):
    """Turns errors into one line on stderr and exit status 1."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401  # as `invoke`
        """Names in the order of `COMMANDS`, where typer puts groups last."""
        order = [name for name, _ in COMMANDS]
        return sorted(super().list_commands(ctx), key=order.index)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # typer's type of it is private
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except RecurringEvalError as error:
            Console().error(str(error))
        except Exception as error:
            # Exits, usage errors and a closed pipe are typer's to handle.
            if hasattr(error, "exit_code") or isinstance(error, BrokenPipeError | typer.Abort):
                raise
            if debugging():
                raise
            Console().error(explain_unexpected(error))
        raise typer.Exit(EXIT_ERROR)


app = typer.Typer(
    name="recurring-eval",
    cls=CommandGroup,
    help="Recurring benchmark runs of LLM agents: history, calibration, subsets, estimates.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("recurring-eval"))
        raise typer.Exit


@app.callback()
def _shared_options(
    ctx: typer.Context,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    version: Annotated[  # noqa: ARG001  # acts through its callback
        bool,
        typer.Option(
            "--version",
            help="Print the version.",
            show_default=False,
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    given = {"config": config, "as_json": as_json, "quiet": quiet}
    ctx.default_map = _for_every_command(ctx.command, {k: v for k, v in given.items() if v})


def _for_every_command(command: object, values: dict[str, Any]) -> dict[str, Any]:
    """Defaults that hand options given before the command name on to the command."""
    children: dict[str, object] = getattr(command, "commands", {})
    return values | {name: _for_every_command(child, values) for name, child in children.items()}


for _name, _command in COMMANDS:
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name)(_command)


def main() -> None:
    """Run the console script `recurring-eval`."""
    app(prog_name="recurring-eval")
