"""Errors of the history file; the message is what the user reads."""

from recurring_eval.errors import RecurringEvalError


class HistoryError(RecurringEvalError):
    """The history could not be read or written; what was stored before stays."""


class HistoryNotFoundError(HistoryError):
    """There is no history at the given path."""


class HistoryLockedError(HistoryError):
    """Another process holds the history; `pid` is its process id, if known."""

    def __init__(self, message: str, *, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class SchemaError(HistoryError):
    """The tables are not those this version of the program works with."""
