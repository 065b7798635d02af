"""`recurring-eval demo`."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="New folder [default: ./recurring-eval-demo]."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulated history.")] = 1,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run the whole loop on a simulated history.

    52 days are simulated, imported and calibrated, a release is tested on 200
    questions and then in full; the reports stay in the folder. Takes under a minute.
    """
    from jobs.app.console import Console
    from jobs.demo import run_demo
    from recurring_eval.errors import InputError

    if config is not None:
        raise InputError("the demo writes a configuration of its own; leave --config out")
    console = Console(as_json=as_json, quiet=quiet)
    console.result(*run_demo(folder, seed=seed, console=console))
