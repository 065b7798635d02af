"""`recurring-eval migrate`."""

from jobs.commands.options import ConfigOption, JsonOption, QuietOption


def run(
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Bring the tables of the history up to date, after a backup."""
    from jobs.app.app import start_app
    from jobs.migrate_history import migrate_history

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    done = migrate_history(app)
    if done.backup is None:
        text = f"Schema version {done.after} is up to date."
    else:
        text = (
            f"Migrated from schema version {done.before} to {done.after}; "
            f"the history as it was is {done.backup.path}."
        )
    app.console.result(done, text)
