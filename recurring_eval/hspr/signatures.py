"""Source-signature groups: questions that no source agent tells apart (HSPR, section 3.2)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MISSING_SYMBOL = -1


def signature_groups(passes: NDArray[np.int16], trials: NDArray[np.int16]) -> NDArray[np.intp]:
    """Group of each question, numbered by first question.

    A signature is the exact tuple of the sources' rates passes/trials, with missing
    as a symbol of its own: 1 of 2 equals 2 of 4, and missing equals only missing.

    Parameters
    ----------
    passes, trials : ndarray, shape (m, N)

    Returns
    -------
    ndarray of intp, shape (N,)
    """
    divisor = np.gcd(passes, trials)
    scale = np.maximum(divisor, 1)
    numerator = np.where(trials > 0, passes // scale, MISSING_SYMBOL).astype(np.int16)
    denominator = np.where(trials > 0, trials // scale, MISSING_SYMBOL).astype(np.int16)
    columns = np.ascontiguousarray(np.concatenate([numerator, denominator]).T)
    first_seen: dict[bytes, int] = {}
    return np.array(
        [first_seen.setdefault(column.tobytes(), len(first_seen)) for column in columns],
        dtype=np.intp,
    )


def group_means(values: Floats, group_of_question: NDArray[np.intp]) -> Floats:
    """Average of `values` (N,) or (N, d) over each group, shape (G,) or (G, d)."""
    size = np.bincount(group_of_question)
    total = np.zeros((len(size), *values.shape[1:]))
    np.add.at(total, group_of_question, values)
    return total / size.reshape(-1, *[1] * (values.ndim - 1))
