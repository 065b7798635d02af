"""Mid-Range: the questions that history passed about half of the time."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from recurring_eval.errors import NotEnoughDataError
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


PENALTIES: Final = (0.1, 1.0, 10.0)


def ridge_scores(
    source_rates: NDArray[np.float64],
    source_scores: NDArray[np.float64],
    target_rates: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Predict the scores of targets by a regression fitted on the source, unclipped.

    The penalty is the one of .1, 1 and 10 with the smallest squared
    leave-one-out error; there is an unpenalised intercept and no scaling.

    Parameters
    ----------
    source_rates : ndarray, shape (m, k)
        Pass rates of source runs on the chosen questions, without missing values.
    source_scores : ndarray, shape (m,)
    target_rates : ndarray, shape (m2, k)

    Returns
    -------
    ndarray, shape (m2,)

    Raises
    ------
    NotEnoughDataError
        There are fewer than two source runs.

    References
    ----------
    Zhang, Dorner and Hardt 2025 (Random-Sampling-Learn); Mid-Range with Ridge in HSPR.
    """
    if len(source_rates) < 2:
        raise NotEnoughDataError("a ridge regression needs at least 2 source runs with a verdict")
    model = RidgeCV(alphas=PENALTIES).fit(source_rates, source_scores)
    return np.asarray(model.predict(target_rates), dtype=np.float64)
