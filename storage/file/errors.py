"""Errors of the history file; the message is what the user reads."""

from typing import Final

from recurring_eval.errors import RecurringEvalError

RESTORE: Final = "restore a backup with `recurring-eval restore BACKUP`"
"""What to do about damage."""


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


class HistoryDamagedError(HistoryError):
    """Something that was stored is gone or changed; the history is not opened."""
