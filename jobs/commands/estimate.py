"""`recurring-eval estimate`."""

from typing import Annotated

import typer

from jobs.commands.options import BenchmarkOption, ConfigOption, JsonOption, QuietOption


def run(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FILE",
            help="A stored run (id, unique prefix, last, last-full, last-routine) or a log file.",
        ),
    ],
    subset: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Subset the run was asked [default: as it records]."),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="M", help="auto, or a method such as stratified+weighted.")
    ] = "auto",
    benchmark: BenchmarkOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Estimate the full pass rate from a partial run.

    A file is not stored; import it to keep its run.
    """
    from pathlib import Path

    from jobs.app.app import start_app
    from jobs.estimating.describe import describe, document
    from jobs.estimating.run_estimates import estimate_file, estimate_run
    from jobs.harnesses.registry import looks_like_log
    from recurring_eval.errors import InputError

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    path = Path(reference)
    if path.is_file():
        result = estimate_file(app, path, subset_id=subset, method=method, benchmark=benchmark)
        app.console.note("the file was not stored; import it to keep its run")
    elif path.is_dir():
        raise InputError(f"{path} is a folder; name one log file, or import it")
    elif looks_like_log(path):
        raise InputError(f"{path}: no such file")
    else:
        result = estimate_run(app, reference, subset_id=subset, method=method, benchmark=benchmark)
    app.console.result(document(result), describe(result))
