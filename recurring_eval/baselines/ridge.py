"""Ridge regression from the verdicts on chosen questions to the full score."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from recurring_eval.errors import NotEnoughDataError

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
