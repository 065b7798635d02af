"""Verdicts and reasons from the words people write."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.log_values import TIMEOUT_WORDS
from jobs.harnesses.run_builder import LONGEST_REASON, MOST_REASONS
from jobs.harnesses.table.columns import Column, RawTable
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

_WORDS: Final[dict[str, int]] = {
    **dict.fromkeys(("pass", "passed", "true", "t", "yes", "y", "ok"), PASS),
    **dict.fromkeys(("resolved", "correct", "c", "success", "succeeded"), PASS),
    **dict.fromkeys(("fail", "failed", "false", "f", "no", "n", "failure"), FAIL),
    **dict.fromkeys(("incorrect", "unresolved", "i", "wrong"), FAIL),
}
_EMPTY: Final = frozenset(("", "null", "none", "na", "n/a", "nan"))
_NO_ERROR: Final = _EMPTY | {"false", "0", "no", "ok"}

_REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(("error", "errored", "exception", "crashed"), "error"),
    **dict.fromkeys(("timeout", "timed out", "timedout", "time out"), "timeout"),
    **dict.fromkeys(("skipped", "skip"), "skipped"),
    **dict.fromkeys(("not run", "notrun", "not started", "pending", "queued"), "not run"),
    **dict.fromkeys(("cancelled", "canceled", "interrupted", "aborted", "running"), "not run"),
    **dict.fromkeys(("invalidated", "invalid"), "invalidated"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Verdict of each row.

    Attributes
    ----------
    outcome : ndarray of int8, shape (n_rows,)
    reason : ndarray of int16, shape (n_rows,)
        Position in `reasons`; -1 for a valid verdict.
    reasons : tuple of str
        ``error``, ``timeout``, ``skipped``, ``not run`` or ``invalidated``, alone or
        followed by a colon and the first line of what the log says.
    notes : tuple of str
    """

    outcome: NDArray[np.int8]
    reason: NDArray[np.int16]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]


def read_verdicts(
    table: RawTable,
    verdict: Column,
    *,
    error: Column | None,
    status: Column | None,
    threshold: float | None,
    n_is_no: bool,
) -> Verdicts:
    """Turn the verdict column, with those of errors and states, into outcomes.

    An error, or a status such as ``timeout``, makes a verdict missing whatever the
    verdict column says.

    Raises
    ------
    InputError
        Naming the line and the unknown word, or the fraction that needs a threshold.
    """
    outcome_of, word_reason = _read_words(table, verdict, threshold, n_is_no=n_is_no)
    outcome = verdict.take(outcome_of, MISSING)
    texts = ["not run", *word_reason]
    reason = verdict.take(_positions(word_reason, 1), 0)
    notes = []
    for column, reader in ((status, _status_reason), (error, _error_reason)):
        if column is None:
            continue
        own = [reader(value) for value in column.scalars()]
        told = column.take(_positions(own, len(texts)), -1)
        texts += own
        lost = (told >= 0) & (outcome != MISSING)
        if lost.any():
            notes.append(
                f"verdicts missing because `{column.name}` reports an error: {int(lost.sum())}"
            )
        outcome = np.where(told >= 0, np.int8(MISSING), outcome)
        reason = np.where(told >= 0, told, reason)
    reason = np.where(outcome == MISSING, reason, np.int32(-1))
    index, reasons = _compact(reason, texts)
    return Verdicts(outcome=outcome, reason=index, reasons=reasons, notes=tuple(notes))


def says_yes(verdict: Column) -> bool:
    """Whether a verdict is written as ``Y``, so that ``N`` means no."""
    return any(isinstance(v, str) and v.strip() in ("Y", "y") for v in verdict.scalars())


def may_be_verdict(value: object) -> bool:
    """Whether a cell is a verdict, a score, or a word for a missing one."""
    try:
        _read_word(value, 0.0, n_is_no=True)
    except InputError:
        return value is None
    return True


def _positions(reasons: Sequence[str], first: int) -> NDArray[np.int32]:
    """Numbers of reasons from `first`, -1 for those that are empty."""
    return np.array(
        [first + at if reason else -1 for at, reason in enumerate(reasons)], dtype=np.int32
    )


def _read_words(
    table: RawTable, column: Column, threshold: float | None, *, n_is_no: bool
) -> tuple[NDArray[np.int8], list[str]]:
    values = column.scalars()
    outcomes = np.empty(len(values), dtype=np.int8)
    reasons: list[str] = []
    for code, value in enumerate(values):
        try:
            outcomes[code], reason = _read_word(value, threshold, n_is_no=n_is_no)
        except InputError as error:
            place = table.place(column.first_row(code))
            raise InputError(f"{place}, column `{column.name}`: {error}") from None
        reasons.append(reason)
    return outcomes, reasons


def _read_word(value: object, threshold: float | None, *, n_is_no: bool) -> tuple[int, str]:
    if isinstance(value, bool):
        return (PASS if value else FAIL), ""
    if isinstance(value, int | float):
        return _read_number(float(value), threshold)
    if not isinstance(value, str):
        raise InputError(f"{value!r} is no verdict")
    word = value.strip()
    if word == "N" and not n_is_no:
        raise InputError("'N' may mean no or no answer; write fail, or leave the cell empty")
    lower = word.lower()
    if lower in _EMPTY:
        return MISSING, "not run"
    if lower in _WORDS:
        return _WORDS[lower], ""
    reason = _REASONS.get(_spaced(lower))
    if reason is not None:
        return MISSING, reason
    try:
        number = float(word)
    except ValueError:
        raise InputError(
            f"unknown verdict {_short(word)!r}; write pass, fail, or nothing where it is missing"
        ) from None
    return _read_number(number, threshold)


def _read_number(number: float, threshold: float | None) -> tuple[int, str]:
    if math.isnan(number):
        return MISSING, "not run"
    if math.isinf(number):
        raise InputError("an infinite score is no verdict")
    if threshold is not None:
        return (PASS if number >= threshold else FAIL), ""
    if number in (0.0, 1.0):
        return (PASS if number == 1.0 else FAIL), ""
    raise InputError(
        f"the score {number:g} is neither 0 nor 1; with --threshold T, scores from T on are passes"
    )


def _status_reason(value: object) -> str:
    return _REASONS.get(_spaced(value.strip().lower()), "") if isinstance(value, str) else ""


def _error_reason(value: object) -> str:
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in _NO_ERROR:
            return ""
    elif value is None or not value or value != value:  # NaN is no error
        return ""
    else:
        text = "error" if value is True else str(value)
    known = _REASONS.get(_spaced(text.lower()))
    if known is not None:
        return known
    kind = "timeout" if TIMEOUT_WORDS.search(text) else "error"
    return f"{kind}: {_short(text.splitlines()[0])}"


def _spaced(word: str) -> str:
    return word.replace("_", " ").replace("-", " ")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."


def _compact(
    reason: NDArray[np.int32], texts: list[str]
) -> tuple[NDArray[np.int16], tuple[str, ...]]:
    """Keep the reasons in use; only their kinds when each row has its own text."""
    used = {texts[at] for at in np.unique(reason[reason >= 0])}
    if len(used) + bool((reason < 0).any()) > MOST_REASONS:
        texts = [text.partition(":")[0] for text in texts]
        used = {text.partition(":")[0] for text in used}
    kinds = sorted(used)
    place = {text: at for at, text in enumerate(kinds)}
    lookup = np.array([place.get(text, -1) for text in texts] + [-1], dtype=np.int16)
    return lookup[reason], tuple(kinds)
