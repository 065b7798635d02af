"""Find the stored sessions that a command is about."""

from jobs.adaptive_session import AdaptiveSession, load_session
from jobs.app import App
from recurring_eval.errors import InputError
from storage.adaptive_sessions import SessionRecord, find_session, list_sessions
from storage.benchmarks import benchmark_names
from storage.history import History
from storage.runs import list_runs


def open_sessions(app: App) -> list[SessionRecord]:
    """List the sessions that are not finished, of every benchmark, in the order of opening."""
    with app.open_history(read_only=True) as history:
        found = [
            record
            for name in benchmark_names(history)
            for record in list_sessions(history, name, unfinished=True)
        ]
    return sorted(found, key=lambda record: (record.opened_at, record.session_id))


def find_open(app: App, reference: str) -> SessionRecord:
    """Find a session that can still be told.

    Raises
    ------
    InputError
        If it is unknown or finished.
    """
    with app.open_history(read_only=True) as history:
        record = find_session(history, reference)
    require_open(record)
    return record


def open_session(app: App, reference: str) -> AdaptiveSession:
    """Load a session that can still be told, with InputError as `find_open`."""
    with app.open_history(read_only=True) as history:
        record = find_session(history, reference)
        require_open(record)
        return load_session(history, record, app.settings.for_benchmark(record.benchmark))


def require_open(record: SessionRecord) -> None:
    """Refuse a finished session, with InputError."""
    if record.finished_at is not None:
        raise InputError(
            f"session {record.session_id} was finished on {record.finished_at:%Y-%m-%d %H:%M} UTC; "
            "look at it with `recurring-eval adaptive show`, or start another one"
        )


def run_of(history: History, record: SessionRecord) -> str | None:
    """Key of the run that a session became, None where it is open or was given up."""
    if record.run_id is None:
        return None
    runs = list_runs(history, record.benchmark)
    return next((run.run_key for run in runs if run.run_id == record.run_id), None)
