"""`recurring-eval revisions`."""

from typing import Annotated

import typer

from jobs.commands.options import BenchmarkOption, ConfigOption, JsonOption, QuietOption


def run(
    reference: Annotated[str, typer.Argument(metavar="RUN", help="Id, beginning of one, or last.")],
    benchmark: BenchmarkOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the verdicts of a run that later imports replaced."""
    from jobs.app.app import start_app
    from jobs.list_revisions import revisions_of

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    found = revisions_of(app, reference, benchmark=benchmark)
    text = [
        f"{r.replaced_at:%Y-%m-%d %H:%M} UTC  {r.question_id} trial {r.trial}: "
        f"{_spelt(r.old, r.old_reason)} -> {_spelt(r.new, r.new_reason)}"
        for r in found
    ]
    app.console.result({"revisions": found}, text or "No verdict of this run was replaced.")


def _spelt(verdict: str, reason: str | None) -> str:
    return f"{verdict} ({reason})" if reason else verdict
