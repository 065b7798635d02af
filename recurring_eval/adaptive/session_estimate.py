"""Estimate of the run that one session asks."""

from dataclasses import dataclass

from recurring_eval.adaptive.questions import AdaptiveEstimates
from recurring_eval.records import AbilityEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEstimate:
    """Estimated full pass rate of the run a session asks, as fractions.

    Attributes
    ----------
    pass_rate : float
    model_sd : float
        Standard deviation of the score under the model. It is too small to be
        shown as an interval; it scales the residuals of replayed runs.
    rerun_variance : float
        Added to ``model_sd ** 2`` it gives the variance about the agent's expected score.
    ability : AbilityEstimate
    n_asked, n_valid : int
        Questions answered, and those with a valid verdict.
    """

    pass_rate: float
    model_sd: float
    rerun_variance: float
    ability: AbilityEstimate
    n_asked: int
    n_valid: int


def single_estimate(estimates: AdaptiveEstimates, *, n_asked: int) -> SessionEstimate:
    """Take the estimate of the only run apart."""
    n_valid = int(estimates.n_valid[0])
    return SessionEstimate(
        pass_rate=float(estimates.pass_rate[0]),
        model_sd=float(estimates.model_sd[0]),
        rerun_variance=float(estimates.rerun_variance[0]),
        ability=AbilityEstimate(
            theta=estimates.theta[0], covariance=estimates.covariance[0], n_observed=n_valid
        ),
        n_asked=n_asked,
        n_valid=n_valid,
    )
