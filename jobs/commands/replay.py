"""`recurring-eval replay`."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import BenchmarkOption, ConfigOption, JsonOption, QuietOption


def run(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE.csv]",
            help="A plain matrix: run or agent, then a question per column with 1, 0 or empty "
            "[default: the stored history].",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="P", help="folds, chronological, transfer or window."),
    ] = None,
    methods: Annotated[str | None, typer.Option(metavar="A,B", help="Methods to compare.")] = None,
    budgets: Annotated[
        str | None,
        typer.Option(metavar="K,P%", help="Questions, or shares of the bank [5%,10%,20%,40%]."),
    ] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", help="Folds of agents [4].")] = None,
    splits: Annotated[
        int | None, typer.Option(metavar="N", help="Assignments of agents to folds [6].")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Repetitions of random methods [folds 2, else 20]."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all random choices.")] = 0,
    windows: Annotated[
        str | None, typer.Option(metavar="7d,28d", help="Calibration windows to compare.")
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            "--agent-family", metavar="F", help="Only this family; with transfer, it calibrates."
        ),
    ] = None,
    show_folds: Annotated[
        bool, typer.Option("--show-folds", help="Print which fold tests which agents.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Processes [all cores].")] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write JSON, CSV files, an HTML page and a journal."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the journal in --output.")
    ] = False,
    benchmark: BenchmarkOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare methods on past runs: which one, with how many questions, suits your agent."""
    from jobs.app.app import start_app
    from jobs.replaying.options import ReplayOptions
    from jobs.replaying.replay import replay
    from jobs.replaying.report import document, text, write_files

    if jobs is None:
        from joblib import cpu_count

        jobs = cpu_count()
    app = start_app(config=config, as_json=as_json, quiet=quiet, needs_config=file is None)
    result = replay(
        app,
        ReplayOptions(
            protocol=protocol,
            methods=methods,
            budgets=budgets,
            windows=windows,
            n_folds=folds,
            n_splits=splits,
            n_seeds=seeds,
            seed=seed,
            family=family,
        ),
        path=file,
        benchmark=benchmark,
        output=output,
        resume=resume,
        n_jobs=jobs,
    )
    content = document(result, show_folds=show_folds)
    lines = text(result, show_folds=show_folds)
    if output is not None:
        page = write_files(app, result, content, output)
        app.console.progress(f"wrote {page}")
    app.console.result(content, lines)
