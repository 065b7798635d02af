"""Small checks at the door of the public functions, and the one order of ids."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.errors import InputError


def read_only_floats(values: ArrayLike) -> NDArray[np.float64]:
    """Copy `values` into a read-only float64 array."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def read_only_counts(values: ArrayLike) -> NDArray[np.int16]:
    """Copy `values` into a read-only int16 array."""
    array = np.array(values, dtype=np.int16)
    array.setflags(write=False)
    return array


def require_subset_size(k: int, n_questions: int) -> None:
    """Refuse a number of questions that the bank cannot supply.

    Raises
    ------
    InputError
        Unless ``1 <= k <= n_questions``.
    """
    if not 1 <= k <= n_questions:
        raise InputError(
            f"`k` is {k}, but the bank has {n_questions} questions; "
            f"choose k between 1 and {n_questions}"
        )


def first_duplicate(ids: Sequence[str]) -> str | None:
    """First id that occurs a second time, or None."""
    seen: set[str] = set()
    for identifier in ids:
        if identifier in seen:
            return identifier
        seen.add(identifier)
    return None


def checked_counts(
    passes: ArrayLike, trials: ArrayLike, n_questions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Verdict counts of m runs on a model's questions as floats, each of shape (m, n).

    Raises
    ------
    InputError
        The shapes do not fit each other and the questions, or a count is not possible.
    """
    successes = np.asarray(passes, dtype=np.float64)
    asked = np.asarray(trials, dtype=np.float64)
    if successes.shape != asked.shape or asked.shape[1:] != (n_questions,):
        raise InputError(
            f"`passes` {successes.shape} and `trials` {asked.shape} need one column for each of "
            f"the model's {n_questions} questions"
        )
    if not ((successes >= 0) & (successes <= asked) & np.isfinite(asked)).all():
        raise InputError("`passes` must lie between 0 and `trials` for every question")
    return successes, asked


def order_by_id(ids: Sequence[str]) -> NDArray[np.intp]:
    """Positions of ids in ascending order, so that sums do not depend on theirs."""
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)


def rank_by_id(ids: Sequence[str]) -> NDArray[np.intp]:
    """Rank of each id in ascending order, the inverse of `order_by_id`."""
    ranks = np.empty(len(ids), dtype=np.intp)
    ranks[order_by_id(ids)] = np.arange(len(ids))
    return ranks
