"""`recurring-eval compact`."""

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Rewrite the history without the space that deleted rows left."""
    from jobs.app.app import start_app
    from jobs.compact import compact

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    done = compact(app)
    app.console.result(
        done, f"Compacted from {done.before / 1e6:.1f} to {done.after / 1e6:.1f} MB."
    )
