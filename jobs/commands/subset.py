"""`recurring-eval subset`."""

from pathlib import Path
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
    k: Annotated[int, typer.Option("--k", help="Number of questions to run.")],
    method: Annotated[
        str,
        typer.Option(
            metavar="M", help="stratified, or with an estimator: stratified+gpirt, +pirt."
        ),
    ] = "stratified",
    output: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="F",
            help="ids, json, or an evaluation tool, whose command is printed: inspect, lm-eval...",
        ),
    ] = "ids",
    files: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder for the files that a tool's command needs."),
    ] = Path(),
    benchmark: BenchmarkOption = None,
    family: FamilyOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print which k questions to run before a release."""
    from jobs.app.app import start_app
    from jobs.estimating.subsets import (
        PLAIN_FORMATS,
        check_format,
        phrase_selection,
        request_subset,
        write_files,
    )

    app = start_app(config=config, as_json=as_json or output == "json", quiet=quiet)
    check_format(output)
    requested = request_subset(app, k=k, method=method, benchmark=benchmark, family=family)
    subset, subset_id = requested.record.subset, requested.record.subset_id
    state = "new" if requested.is_new else f"published {requested.record.published_at:%Y-%m-%d}"
    document = {
        "subset_id": subset_id,
        "method": method,
        "k": subset.k,
        "question_ids": subset.question_ids,
        "weights": subset.weights,
        "sha256": subset.sha256,
        "benchmark": requested.record.benchmark,
        "agent_family": requested.record.agent_family,
        "design": subset.design,
        "bank_version": subset.bank_version,
    }
    what = f"subset {subset_id} ({state}): {subset.k} of {requested.n_questions} questions"
    if output in PLAIN_FORMATS:
        app.console.progress(f"{what}; import their results with --subset {subset_id}")
        app.console.result(document, subset.question_ids)
        return
    selection = phrase_selection(app, requested.record, output, folder=files)
    written = write_files(selection, files)
    app.console.progress(what)
    for path in written:
        app.console.progress(f"wrote {path}")
    for note in selection.notes:
        app.console.note(note)
    details = {"command": selection.command, "files": selection.files, "notes": selection.notes}
    app.console.result(document | details, selection.command)
