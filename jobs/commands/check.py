"""`recurring-eval check`."""

from typing import Annotated

import typer

from jobs.commands.options import (
    BenchmarkOption,
    ConfigOption,
    FamilyOption,
    JsonOption,
    QuietOption,
)


def run(
    references: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Full runs [default: all since a calibration]."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only runs from this date (UTC) on.")
    ] = None,
    benchmark: BenchmarkOption = None,
    family: FamilyOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare full runs with what every active subset would have said."""
    from jobs.app import start_app
    from jobs.check_full_run import check_full_runs
    from jobs.commands.dates import start_of

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    report = check_full_runs(
        app,
        references or [],
        since=None if since is None else start_of(since, "--since"),
        benchmark=benchmark,
        family=family,
    )
    for key, reason in report.skipped.items():
        app.console.note(f"{key} skipped: {reason}")
    lines = [
        f"{row.benchmark} k={row.k} {row.method}: {row.n} full runs, mean error "
        f"{row.mae_pp:.2f} pp, worst {row.max_error_pp:.2f} pp, bias {row.bias_pp:+.2f} pp, "
        f"interval held {100 * row.coverage:.0f} %"
        for row in report.summary
    ]
    rows = [
        {
            "run_id": row.run_key,
            "method": row.method,
            "k": row.k,
            "estimate": row.estimate,
            "full_pass_rate": row.full_pass_rate,
            "error_pp": row.error_pp,
            "covered": row.covered,
            "low": row.low,
            "high": row.high,
            "started_at": row.started_at,
            "subset_id": row.subset_id,
            "calibration_id": row.calibration_id,
        }
        for row in report.rows
    ]
    app.console.result({"rows": rows, "summary": report.summary, "skipped": report.skipped}, lines)
