"""`recurring-eval import`."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import ConfigOption, JsonOption, QuietOption, read_purpose


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, or folders with all they contain."),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="B", help="Benchmark, in place of the files' own."),
    ] = None,
    harness: Annotated[
        str, typer.Option(metavar="NAME", help="Reader: auto, or the name of one.")
    ] = "auto",
    agent: Annotated[
        str | None, typer.Option(metavar="A", help="Agent, in place of the files' own.")
    ] = None,
    purpose: Annotated[
        str | None, typer.Option(metavar="P", help="routine, candidate or experiment.")
    ] = None,
    subset: Annotated[
        str | None, typer.Option(metavar="ID", help="The subset that these runs were asked.")
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TASK=]NAME", help="Scorer, metric or reward that decides (remembered)."
        ),
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="[TASK=]NAME", help="Filter that counts (remembered)."),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(metavar="[TASK=]T", help="A score of at least T is a pass (remembered)."),
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(metavar="[TASK=]FIELD", help="Field of a question's id (remembered)."),
    ] = None,
    count: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE=VERDICT",
            help="Count a state of the tool as pass, fail or missing (remembered).",
        ),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Zone of times written without one, in place of UTC."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let changed verdicts replace stored ones.")
    ] = False,
    extend_bank: Annotated[
        bool, typer.Option("--extend-bank", help="Let unknown questions extend the bank.")
    ] = False,
    create: Annotated[
        bool, typer.Option("--create", help="Let an unknown name make a new benchmark.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, store nothing.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Import the logs of evaluation tools, and tables.

    A table has a row per run, question and trial, in columns such as run_id,
    question_id, verdict (pass, fail, error, timeout, ...) and started_at; trial,
    agent and benchmark may follow. An invalid log is refused whole;
    importing a log again changes nothing.
    """
    from jobs.app.app import start_app
    from jobs.app.console import EXIT_ERROR
    from jobs.harnesses.harness import ReadOptions
    from jobs.harnesses.verdict_rule import read_rules
    from jobs.importing.import_runs import ImportOptions, import_runs
    from jobs.importing.report import REFUSED

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    given, by_task = read_rules(
        verdict=verdict or [],
        filter_=filter_ or [],
        threshold=threshold or [],
        question=question or [],
        counts=count or [],
    )
    options = ImportOptions(
        read=ReadOptions(agent=agent, timezone=timezone, given=given, given_by_task=by_task),
        harness=harness,
        benchmark=benchmark,
        purpose=read_purpose(purpose),
        subset_id=subset,
        replace=replace,
        extend_bank=extend_bank,
        create=create,
        dry_run=dry_run,
    )
    report = import_runs(app, paths, options)
    for file in report.files:
        for note in file.notes:
            app.console.note(f"{file.path}: {note}")
        if file.status == REFUSED:
            app.console.error(f"{file.path}: {file.reason}")
    app.console.result(report, report.text())
    if report.n_refused:
        raise typer.Exit(EXIT_ERROR)
