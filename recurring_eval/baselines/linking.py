"""Mean-sigma linking: one bank's parameters on another's ability scale."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_sigma(reference: Floats, other: Floats) -> tuple[float, float]:
    """Scale A and shift B with ``theta_reference = A theta_other + B`` for common runs.

    Parameters
    ----------
    reference, other : ndarray, shape (m,)
        Abilities of the same runs on both scales.
    """
    scale = float(reference.std() / other.std())
    return scale, float(reference.mean() - scale * other.mean())


def link_slope_intercept(
    slope: Floats, intercept: Floats, *, scale: float, shift: float
) -> tuple[Floats, Floats]:
    r"""Slope and intercept of :math:`\sigma(a\theta + d)` on the reference scale.

    :math:`a^* = a / A`, :math:`d^* = d - a B / A`. The released code of ATLAS
    uses ``A d + B a`` instead, which does not keep the probabilities.
    """
    linked = slope / scale
    return linked, intercept - linked * shift
