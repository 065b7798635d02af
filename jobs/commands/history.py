"""The commands that maintain the history: backup, restore, migrate, export, compact, retain, ..."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.options import BenchmarkOption, ConfigOption, JsonOption, QuietOption


def backup(
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Keep the N newest [default: the configured]."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder [default: the configured].", show_default=False),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Copy the history while it is in use, and verify the copy."""
    from jobs.app.app import start_app
    from jobs.upkeep.backups import back_up

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    done = back_up(app, folder=to, keep=keep)
    text = [f"Backed up to {done.backup} ({done.n_bytes / 1e6:.1f} MB), verified."]
    if done.removed:
        text.append(f"Removed {len(done.removed)} older backups.")
    app.console.result(done, text)


def restore(
    backup: Annotated[
        str | None,
        typer.Argument(
            metavar="BACKUP",
            help="A backup's path or name, or `last`; without it, they are listed.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Put a backup in the place of the history, whose files are set aside."""
    from jobs.app.app import start_app
    from jobs.upkeep.backups import find_backup
    from storage.file.restore import restore_backup

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    path = find_backup(app, backup)
    app.console.progress(f"verifying {path}")
    done = restore_backup(path, app.settings.history, now=app.clock.now())
    text = [f"Restored {done.path} from {done.backup.name}."]
    if done.set_aside:
        text.append(f"What was there: {', '.join(file.name for file in done.set_aside)}.")
    if done.lost:
        text.append(f"Not in the backup: {done.lost}; import these again.")
    app.console.result(done, text)


def migrate(
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Bring the tables of the history up to date, after a backup."""
    from jobs.app.app import start_app
    from storage.file.upkeep import migrate as migrate_file

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    settings = app.settings
    done = migrate_file(settings.history, backup_folder=settings.backups, now=app.clock.now())
    if done.backup is None:
        text = f"Schema version {done.after} is up to date."
    else:
        text = (
            f"Migrated from schema version {done.before} to {done.after}; "
            f"the history as it was is {done.backup.path}."
        )
    app.console.result(done, text)


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Created if missing.")],
    format: Annotated[  # noqa: A002  # the option's name
        str, typer.Option("--format", metavar="F", help="parquet or csv.")
    ] = "parquet",
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write every table to a file of its own."""
    from jobs.app.app import start_app
    from recurring_eval.errors import InputError
    from storage.export import OPTIONS, export_tables

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    if format not in OPTIONS:
        raise InputError(f"no format is called {format!r}; choose from {', '.join(OPTIONS)}")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder")
    with app.open_history(read_only=True) as history:
        tables = export_tables(
            history,
            folder,
            format=format,
            progress=lambda table: app.console.progress(f"writing {table}"),
        )
    text = [f"{table.n_rows:>12,}  {table.path}" for table in tables]
    app.console.result({"folder": folder, "tables": tables}, text)


def compact(
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Rewrite the history without the space of deleted rows."""
    from jobs.app.app import start_app
    from storage.file.upkeep import compact as compact_file

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    done = compact_file(app.settings.history)
    app.console.result(
        done, f"Compacted from {done.before / 1e6:.1f} to {done.after / 1e6:.1f} MB."
    )


def retain(
    days: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="In place of the configured number of days."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Move verdicts of old runs to Parquet files beside the history, where they stay readable."""
    from datetime import timedelta

    from jobs.app.app import start_app
    from recurring_eval.errors import InputError
    from storage.file.upkeep import move_old_verdicts

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    kept = app.settings.retention.verdicts_days if days is None else days
    if kept is None:
        raise InputError(
            "no retention is configured; set `verdicts_days` in [retention], or pass --days N"
        )
    now = app.clock.now()
    with app.open_history() as history:
        moved = move_old_verdicts(history, before=now - timedelta(days=kept), now=now)
    where = f" to {moved.path}" if moved.path is not None else ""
    app.console.result(
        moved, f"Moved {moved.n_verdicts:,} verdicts of {moved.n_runs:,} runs{where}."
    )


def revisions(
    reference: Annotated[str, typer.Argument(metavar="RUN", help="Id, beginning of one, or last.")],
    benchmark: BenchmarkOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List the verdicts of a run that later imports replaced."""
    from jobs.app.app import start_app
    from storage.runs.runs import find_run, list_revisions

    app = start_app(config=config, as_json=as_json, quiet=quiet)
    with app.open_history(read_only=True) as history:
        found = list_revisions(history, find_run(history, reference, benchmark=benchmark))
    text = [
        f"{r.replaced_at:%Y-%m-%d %H:%M} UTC  {r.question_id} trial {r.trial}: "
        f"{_verdict(r.old, r.old_reason)} -> {_verdict(r.new, r.new_reason)}"
        for r in found
    ]
    app.console.result({"revisions": found}, text or "No verdict of this run was replaced.")


def _verdict(verdict: str, reason: str | None) -> str:
    return f"{verdict} ({reason})" if reason else verdict
