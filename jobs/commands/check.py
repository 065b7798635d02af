"""`recurring-eval check`."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.options import (
    BenchmarkOption,
    ConfigOption,
    FamilyOption,
    JsonOption,
    QuietOption,
    start_of,
)

if TYPE_CHECKING:
    from jobs.estimating.checks import CheckSummary

SHOWN = 5
FIELDS = (
    *("method", "k", "estimate", "full_pass_rate", "error_pp", "covered", "low", "high"),
    *("started_at", "subset_id", "calibration_id"),
)
"""What the document has of a check beside its run."""


def _name(row: "CheckSummary") -> str:
    family = "" if row.agent_family == "main" else f" ({row.agent_family})"
    return f"{row.benchmark}{family}"


def run(
    references: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]", help="Full runs [default: all after the first calibration]."
        ),
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
    """Compare full runs with the estimates that fewer questions would have given.

    Each run is estimated from its own verdicts, under the newest calibration and
    subsets whose data end before it: on the subsets' questions, and on those that each
    step-by-step method would have asked, which takes about a second per run.
    """
    from jobs.app.app import start_app
    from jobs.estimating.checks import check_full_runs

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    report = check_full_runs(
        app,
        references or [],
        since=None if since is None else start_of(since, "--since"),
        benchmark=benchmark,
        family=family,
    )
    reasons = list(report.skipped.values())
    for reason in reasons[:SHOWN]:
        app.console.note(f"skipped: {reason}")
    if len(reasons) > SHOWN:
        app.console.note(f"skipped: {len(reasons) - SHOWN} more runs; --json lists them")
    lines = [
        f"{_name(row)} k={row.k} {row.method}: {row.n} full run{'s' * (row.n > 1)}, mean error "
        f"{row.mae_pp:.2f} pp, worst {row.max_error_pp:.2f} pp, bias {row.bias_pp:+.2f} pp, "
        f"interval held {100 * row.coverage:.0f} %"
        for row in report.summary
    ]
    rows = [
        {"run_id": row.run_key} | {name: getattr(row, name) for name in FIELDS}
        for row in report.rows
    ]
    app.console.result({"rows": rows, "summary": report.summary, "skipped": report.skipped}, lines)
