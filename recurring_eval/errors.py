"""Errors the product raises on purpose.

Every message is one line: what is wrong, where, and what to do; the
command line prints it and exits with status 1.
"""


class RecurringEvalError(Exception):
    """Base of every error a user is meant to read."""


class InputError(RecurringEvalError):
    """An argument, file or verdict is not acceptable; nothing was changed."""


class NotEnoughDataError(RecurringEvalError):
    """The history is too short for what was asked."""


class FitError(RecurringEvalError):
    """A model could not be fitted (no convergence, non-finite parameters)."""
