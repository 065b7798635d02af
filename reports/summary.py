"""The headline's figures in the form its tiles show them."""

from dataclasses import dataclass

from reports.context import Headline, TodaysError
from reports.wording import UNKNOWN, decimal

MAX_METHODS = 5
MAX_SIZES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMatrix:
    """Expected error in pp by method (rows) and k (columns), as text.

    Attributes
    ----------
    complete : bool
        Whether every method and k of the headline is in it.
    """

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    complete: bool


def error_matrix(headline: Headline) -> ErrorMatrix:
    """Lay out today's expected errors, the headline's first method on top."""
    methods = list(dict.fromkeys(error.method for error in headline.errors))
    sizes = sorted({error.k for error in headline.errors})
    found = {(error.method, error.k): error.expected_error_pp for error in headline.errors}
    shown = sizes[:MAX_SIZES]
    return ErrorMatrix(
        sizes=tuple(shown),
        rows=tuple(
            (
                method,
                tuple(
                    decimal(found[method, k], 1) if (method, k) in found else UNKNOWN for k in shown
                ),
            )
            for method in methods[:MAX_METHODS]
        ),
        complete=len(methods) <= MAX_METHODS and len(sizes) <= MAX_SIZES,
    )


def leading_error(headline: Headline) -> TodaysError | None:
    """Return the error shown large: the first of the headline."""
    return headline.errors[0] if headline.errors else None


def change_pp(headline: Headline) -> float | None:
    """Last full pass rate minus the one before it, in pp."""
    last = headline.last_full_run
    if last is None or last.previous_pass_rate is None:
        return None
    return 100 * (last.pass_rate - last.previous_pass_rate)
