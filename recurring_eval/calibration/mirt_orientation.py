"""Choosing among the rotations of abilities and discriminations that fit equally well."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLEARANCE: Final = 1e-6
"""How far past zero a rotation goes, relatively, so that rounding cannot undo it."""


def orientation(ability: Floats, slopes: Floats, scores: Floats) -> Floats:
    """Rotation to principal axes that point upwards, (d, d).

    ``ability @ rotation`` and ``slopes @ rotation`` have axes in the order of
    their variance. On each axis the covariance of ability with the scores and
    the sum of the discriminations are not negative. An axis on which the two
    disagree is turned towards the leading one, by the least angle that mends
    it. Only when the two disagree over all axes together, which no rotation can
    mend, is the covariance alone made non-negative.

    Parameters
    ----------
    ability : ndarray, shape (m, d)
    slopes : ndarray, shape (n, d)
    scores : ndarray, shape (m,)
        Pass rates of the runs, NaN for a run without a verdict.

    Returns
    -------
    ndarray, shape (d, d)
        Orthogonal.
    """
    _, axes = np.linalg.eigh(ability.T @ ability)
    rotation = axes[:, ::-1].copy()
    scored = np.isfinite(scores)
    centred = scores[scored] - scores[scored].mean()
    by_score = centred @ ability[scored] @ rotation
    by_slope = slopes.sum(axis=0) @ rotation
    sign = np.where(np.where(by_score != 0, by_score, by_slope) < 0, -1.0, 1.0)
    rotation, by_score, by_slope = rotation * sign, by_score * sign, by_slope * sign
    if by_score @ by_slope <= 0:
        return rotation
    for _ in range(len(rotation) ** 2):
        against = np.flatnonzero(by_score * by_slope < 0)
        if not len(against):
            break
        turn = _turn(int(against[0]), int(np.argmax(by_score * by_slope)), by_score, by_slope)
        rotation, by_score, by_slope = rotation @ turn, by_score @ turn, by_slope @ turn
    return rotation * np.where(by_score + by_slope < 0, -1.0, 1.0)


def _turn(against: int, leading: int, by_score: Floats, by_slope: Floats) -> Floats:
    """Plane rotation that lifts the slope sum on axis `against` just above zero.

    It keeps the sum of ``by_score * by_slope`` over the two axes, so the
    leading axis pays for the axis it mends.
    """
    tilt = -by_slope[against] / by_slope[leading] * (1.0 + CLEARANCE)
    cosine = 1.0 / np.hypot(1.0, tilt)
    sine = tilt * cosine
    turn = np.eye(len(by_score))
    turn[[against, leading], [against, leading]] = cosine
    turn[leading, against] = sine
    turn[against, leading] = -sine
    return turn
