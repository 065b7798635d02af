"""`recurring-eval report`."""

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
    open_it: Annotated[bool, typer.Option("--open", help="Open the index in the browser.")] = False,
    benchmark: BenchmarkOption = None,
    family: FamilyOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the last night's HTML report and the index again."""
    from jobs.app.app import start_app
    from jobs.pages.nightly import index_path, publish_latest_reports

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    pages = publish_latest_reports(app, benchmark=benchmark, family=family)
    index = index_path(app)
    app.console.result(
        {"reports": pages, "index": index}, [*(str(page) for page in pages), f"index: {index}"]
    )
    if open_it:
        typer.launch(index.absolute().as_uri())
