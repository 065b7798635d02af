"""Which group to ask next: expected one-step reduction of posterior variance.

HSPR, section 3.4 and Appendix B. Both rules are exact for the weighted nodes.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr.group_rates import baseline_odds
from recurring_eval.hspr.posterior import NodePosterior

Floats = NDArray[np.float64]

TIE: Final = 1e-9
"""Gains closer than this, relatively, are equal: the first group is asked."""

SINGLE_PRECISION_ERROR: Final = 1e-4
"""Bound on the relative error of the largest gains in single precision."""

NEGLIGIBLE_WEIGHT: Final = 1e-30

SMALLEST_VARIANCE: Final = 1e-13
"""Of an outcome: baseline probabilities are clipped to [1e-12, 1 - 1e-12]."""


def gains(posterior: NodePosterior, askable: NDArray[np.bool_]) -> Floats:
    """Gain of asking one question of each group, shape (G,); -inf where not askable.

    Score acquisition, equation (10), in squared pass-rate units; latent acquisition,
    equation (13), in squared units of the latent state.
    """
    targets = _targets(posterior)
    covariance, variance = _covariances(posterior, targets)
    return _gain(covariance, variance, askable)


def choose_group(posterior: NodePosterior, askable: NDArray[np.bool_]) -> int:
    """Group with the largest gain; of equal ones the first.

    In single precision the leading groups are recomputed in double precision, so that
    the choice is that of the double-precision computation.
    """
    gain = gains(posterior, askable)
    best = gain.max()
    if posterior.rare.dtype == np.float64:
        return int(np.argmax(gain >= best * (1.0 - TIE)))
    leaders = np.flatnonzero(gain >= best * (1.0 - SINGLE_PRECISION_ERROR))
    if len(leaders) == 1:
        return int(leaders[0])
    exact = np.array([_exact_gain(posterior, int(group)) for group in leaders])
    return int(leaders[np.argmax(exact >= exact.max() * (1.0 - TIE))])


def choose_groups(
    posterior: NodePosterior, askable: NDArray[np.intp], n_questions: int
) -> list[int]:
    """Choose the groups of the next `n_questions` questions, to be asked together.

    The first is `choose_group`'s. Each later one maximises the gain left after the
    covariances have been reduced as if scores and outcomes were jointly normal, which
    needs no outcome.

    Parameters
    ----------
    posterior : NodePosterior
    askable : ndarray of int, shape (G,)
        Questions of each group that may still be asked.
    n_questions : int
        At most ``askable.sum()``.
    """
    left = askable.copy()
    chosen = [choose_group(posterior, left > 0)]
    if n_questions == 1:
        return chosen
    targets = _targets(posterior)
    covariance, variance = _covariances(posterior, targets)
    loads: list[Floats] = []
    while True:
        group = chosen[-1]
        left[group] -= 1
        if len(chosen) == n_questions:
            return chosen
        shared = _group_covariance(posterior, group)
        own = variance[group]
        for load in loads:
            shared = shared - load[group] * load
        # A further question of this group shares all of `shared`, but not the noise of
        # the outcome just chosen.
        load = shared / np.sqrt(own)
        covariance = covariance - np.outer(load, covariance[group]) / np.sqrt(own)
        variance = np.maximum(variance - load**2, SMALLEST_VARIANCE)
        loads.append(load)
        gain = _gain(covariance, variance, left > 0)
        chosen.append(int(np.argmax(gain >= gain.max() * (1.0 - TIE))))


def _targets(posterior: NodePosterior) -> Floats:
    """Centred targets times node weights, shape (J, t): the score, or latent coordinates."""
    if posterior.config.acquisition == "score":
        target = posterior.expected[np.newaxis]
    else:
        target = posterior.components[0].nodes
    centred = target - (target @ posterior.weights)[:, np.newaxis]
    return np.asarray((centred * posterior.weights).T)


def _covariances(posterior: NodePosterior, targets: Floats) -> tuple[Floats, Floats]:
    """Covariance of each target with a group's outcome (G, t), and its variance (G,)."""
    weights = posterior.weights * posterior.n_nodes
    # Denormal numbers are slow and change nothing.
    weights = np.where(weights > NEGLIGIBLE_WEIGHT, weights, 0.0).astype(posterior.rare.dtype)
    rate = (posterior.rare @ weights).astype(np.float64) / posterior.n_nodes
    covariance = np.empty((len(rate), targets.shape[1]))
    for i, target in enumerate(targets.T):
        scaled = (target * posterior.n_nodes).astype(posterior.rare.dtype)
        covariance[:, i] = posterior.sign * (posterior.rare @ scaled) / posterior.n_nodes
    if posterior.config.acquisition == "score":
        covariance[:, 0] += (posterior.spread @ weights) / posterior.n_nodes
        covariance /= posterior.model.n_questions
    return covariance, np.maximum(rate * (1.0 - rate), SMALLEST_VARIANCE)


def _gain(covariance: Floats, variance: Floats, askable: NDArray[np.bool_]) -> Floats:
    gain = np.full(len(variance), -np.inf)
    gain[askable] = (covariance[askable] ** 2).sum(axis=1) / variance[askable]
    return gain


def _exact_gain(posterior: NodePosterior, group: int) -> float:
    """Gain of one group from its row in double precision, up to a common factor."""
    mean, variance = posterior.rare_moments(group, baseline_odds(posterior.logits(group)))
    rate = float(posterior.weights @ mean)
    covariance = posterior.sign[group] * (mean @ _targets(posterior))
    if posterior.config.acquisition == "score":
        spread = mean * (1.0 - mean) + (posterior.unasked[group] - 1.0) * variance
        covariance = covariance + posterior.weights @ spread
    return float((covariance**2).sum() / max(rate * (1.0 - rate), SMALLEST_VARIANCE))


def _group_covariance(posterior: NodePosterior, group: int) -> Floats:
    """Covariance of a group's outcome with one further outcome of each group, shape (G,)."""
    row = posterior.rare[group].astype(np.float64)
    centred = posterior.weights * (row - posterior.weights @ row)
    shared = posterior.rare @ (centred * posterior.n_nodes).astype(posterior.rare.dtype)
    sign = posterior.sign * posterior.sign[group]
    covariance: Floats = np.asarray(sign * shared / posterior.n_nodes, dtype=np.float64)
    if posterior.unasked[group] > 1:
        # Questions of one group share its rate: E tau^2 from the stored spread.
        tau = (posterior.spread[group] - row * (1.0 - row)) / (posterior.unasked[group] - 1.0)
        covariance[group] += posterior.weights @ tau
    return covariance
