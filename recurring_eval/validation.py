"""Small checks used at the door of the public functions."""

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
