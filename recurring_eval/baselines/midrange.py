"""Mid-Range: the questions that history passed about half of the time."""

import numpy as np
from numpy.typing import NDArray

from recurring_eval.validation import require_subset_size


def midrange_questions(
    passes: NDArray[np.integer], trials: NDArray[np.integer], k: int
) -> NDArray[np.intp]:
    """Positions of the k questions with historical pass rates nearest one half, nearest first.

    Equally near questions come in their own order, compared without rounding;
    questions without a verdict come last. Their plain mean says how runs rank,
    not what they score: it is some 20 percentage points off by construction.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (n,)
        Totals of the history by question.
    k : int
        ``1 <= k <= n``.

    References
    ----------
    Ndzomga 2026, as HSPR uses it: the k nearest instead of all within 30-70 %.
    """
    require_subset_size(k, len(trials))
    # One correctly rounded division of integers: equal distances are equal floats.
    distance = np.divide(
        np.abs(2 * np.asarray(passes, dtype=np.int64) - trials),
        trials,
        out=np.full(len(trials), np.inf),
        where=trials > 0,
    )
    return np.argsort(distance, kind="stable")[:k]
