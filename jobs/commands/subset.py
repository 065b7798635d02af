"""`recurring-eval subset`."""

from enum import StrEnum
from typing import Annotated

import typer

from jobs.commands.options import (
    BenchmarkOption,
    ConfigOption,
    FamilyOption,
    JsonOption,
    QuietOption,
)


class SubsetFormat(StrEnum):
    """How the questions are printed."""

    IDS = "ids"
    JSON = "json"


def run(
    k: Annotated[int, typer.Option("--k", help="Number of questions to run.")],
    method: Annotated[
        str,
        typer.Option(
            metavar="M", help="stratified, or with an estimator: stratified+gpirt, +pirt."
        ),
    ] = "stratified",
    output: Annotated[
        SubsetFormat, typer.Option("--format", help="One id a line, or a JSON document.")
    ] = SubsetFormat.IDS,
    benchmark: BenchmarkOption = None,
    family: FamilyOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print which k questions to run before a release."""
    from jobs.app import start_app
    from jobs.request_subset import request_subset

    app = start_app(config=config, as_json=as_json or output is SubsetFormat.JSON, quiet=quiet)
    requested = request_subset(app, k=k, method=method, benchmark=benchmark, family=family)
    subset, subset_id = requested.record.subset, requested.record.subset_id
    state = "new" if requested.is_new else f"published {requested.record.published_at:%Y-%m-%d}"
    app.console.progress(
        f"subset {subset_id} ({state}): {subset.k} of {requested.n_questions} questions; "
        f"import their results with --subset {subset_id}"
    )
    app.console.result(
        {
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
        },
        subset.question_ids,
    )
