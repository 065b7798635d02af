"""The environment of a job: settings, clock, console, and access to the history."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.app.benchmark_view import BenchmarkView
from jobs.app.config import Settings
from jobs.app.config_file import load_settings
from jobs.app.console import Console
from jobs.clock import Clock, SystemClock
from storage.file.backups import list_backups
from storage.file.errors import HistoryDamagedError
from storage.file.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The environment of one command or job.

    Attributes
    ----------
    settings : Settings
    config_path : Path or None
        The file the settings were read from.
    console : Console
    clock : Clock
    """

    settings: Settings
    config_path: Path | None
    console: Console
    clock: Clock = field(default_factory=SystemClock)

    def open_history(self, *, read_only: bool = False) -> History:
        """Open the history; use it as a context manager and close it soon.

        Raises
        ------
        HistoryNotFoundError, HistoryLockedError, SchemaError
        HistoryDamagedError
            Naming the newest backup, if there is one.
        """
        try:
            history = History.open(self.settings.history, read_only=read_only)
        except HistoryDamagedError as error:
            raise HistoryDamagedError(f"{error} ({self.newest_backup()})") from error
        for note in history.notes:
            self.console.note(f"{self.settings.history.name}: {note}")
        return history

    def view(self, benchmark: str) -> BenchmarkView:
        """View of a benchmark under its settings."""
        return BenchmarkView(benchmark=benchmark, settings=self.settings.for_benchmark(benchmark))

    def newest_backup(self) -> str:
        """Describe the newest backup, for messages."""
        backups = list_backups(self.settings.backups, self.settings.history)
        if not backups:
            return f"there is no backup in {self.settings.backups}"
        return f"the newest backup is {backups[-1].path}"

    @contextmanager
    def writing(self) -> Iterator[History]:
        """Open the history to write in one transaction, and make it durable at the end."""
        with self.open_history() as history:
            with history.transaction():
                yield history
            history.checkpoint()


def start_app(
    *,
    config: Path | None = None,
    as_json: bool = False,
    quiet: bool = False,
    flags: Mapping[str, Any] | None = None,
    needs_config: bool = True,
    clock: Clock | None = None,
) -> App:
    """Resolve the configuration of a command.

    Parameters
    ----------
    config, as_json, quiet
        The options every command has.
    flags : mapping or None
        Command-line values that override settings, by settings key.
    needs_config : bool
        Whether a missing `recurring-eval.toml` is an error.
    clock : Clock or None
        By default the machine's.

    Raises
    ------
    InputError
        If the configuration is missing or wrong.
    """
    settings, path = load_settings(config, flags=flags, required=needs_config)
    return App(
        settings=settings,
        config_path=path,
        console=Console(as_json=as_json, quiet=quiet),
        clock=clock or SystemClock(),
    )
