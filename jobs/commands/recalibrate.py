"""`recurring-eval recalibrate`."""

from typing import Annotated

import typer

from jobs.commands.options import (
    BenchmarkOption,
    ConfigOption,
    FamilyOption,
    JsonOption,
    QuietOption,
    read_date,
)


def run(
    benchmark: BenchmarkOption = None,
    family: FamilyOption = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="The night of this date (UTC) [default: today]."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="28d|all", help="Calibration window [default: as configured]."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Refit a night that is done already.")
    ] = False,
    new_subsets: Annotated[
        bool, typer.Option("--new-subsets", help="Choose and publish the subsets anew.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write the HTML report as well.")
    ] = True,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run the nightly job once: models, subsets, cache, report.

    A night that is done already is skipped, so it is safe to run this again.
    """
    from jobs.app.app import start_app
    from jobs.app.console import EXIT_ERROR
    from jobs.nights.recalibrate import recalibrate
    from jobs.pages.nightly import publish_nightly_reports
    from recurring_eval.errors import RecurringEvalError

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    results = recalibrate(
        app,
        benchmark=benchmark,
        family=family,
        as_of=None if as_of is None else read_date(as_of, "--as-of"),
        window=window,
        force=force,
        new_subsets=new_subsets,
    )
    failed = any(result.status == "failed" for result in results)
    pages = []
    try:
        pages = publish_nightly_reports(app, results) if report else []
    except RecurringEvalError as error:
        # The nights are done; what is wrong with the pages must not hide how they went.
        app.console.error(str(error))
        failed = True
    lines = []
    for result in results:
        name = f"{result.benchmark} ({result.agent_family}) {result.date}"
        if result.status == "failed":
            app.console.error(f"{name}: {result.message}")
            continue
        status = result.status
        if status == "kept":
            kept = result.calibration_id
            status = "not calibrated" if kept is None else f"calibration {kept} kept"
        lines.append(f"{name}: {status}; {result.message}")
    lines += [f"report: {page}" for page in pages]
    app.console.result({"results": results, "reports": pages}, lines)
    if failed:
        raise typer.Exit(EXIT_ERROR)
