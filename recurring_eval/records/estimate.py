"""What is estimated of a run: ability, score with its intervals, distribution, diagnostics."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from recurring_eval.validation import read_only_floats


@dataclass(frozen=True, slots=True, kw_only=True)
class AbilityEstimate:
    """Posterior mode of a run's ability and the inverse posterior information.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
    n_observed : int
        Number of questions with a valid verdict.
    """

    theta: NDArray[np.float64]
    covariance: NDArray[np.float64]
    n_observed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", read_only_floats(self.theta))
        object.__setattr__(self, "covariance", read_only_floats(self.covariance))
        if not (np.isfinite(self.theta).all() and np.isfinite(self.covariance).all()):
            raise ValueError("ability estimate is not finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDistribution:
    """Probability of every value that a score over N questions can take.

    Attributes
    ----------
    values : ndarray, shape (N + 1,)
        Pass rates in ascending order: ``k / N``, moved by a fraction of a question
        where questions were tried more than once.
    pmf : ndarray, shape (N + 1,)
        Their probabilities; sum to 1.
    """

    values: NDArray[np.float64]
    pmf: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", read_only_floats(self.values))
        object.__setattr__(self, "pmf", read_only_floats(self.pmf))
        if self.values.ndim != 1 or self.values.shape != self.pmf.shape or not len(self.values):
            raise ValueError("`values` and `pmf` must be equally long vectors")
        if not (np.isfinite(self.values).all() and (np.diff(self.values) >= 0).all()):
            raise ValueError("`values` must be finite and ascending")
        if not ((self.pmf >= 0).all() and abs(float(self.pmf.sum()) - 1.0) <= 1e-9):
            raise ValueError("`pmf` must hold probabilities that sum to 1")

    def quantile(self, share: float) -> float:
        """Smallest value whose cumulative probability reaches `share`."""
        reached = np.cumsum(self.pmf) >= share - 1e-12
        return float(self.values[int(np.argmax(reached))] if reached.any() else self.values[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprDiagnostics:
    """Numerical quality, support and configuration of an estimate by HSPR.

    Attributes
    ----------
    configuration : str
        Name of the configuration used.
    effective_sample_size : float
        Effective number of nodes as a share of all.
    n_nodes, n_groups, n_sources : int
    source_zero_share : float
        Share of the bank's questions that no source ever passed.
    queried_source_zero_share : float
        Share of the answered questions that no source ever passed.
    latent_weights : mapping of str to float
        Posterior weight of each latent prior; one entry of 1 without averaging.
    calibration : float
        What calibration added to the decision, in pass-rate units.
    extrapolating : bool
        The posterior mean lies outside the range of the sources' scores.
    """

    configuration: str
    effective_sample_size: float
    n_nodes: int
    n_groups: int
    n_sources: int
    source_zero_share: float
    queried_source_zero_share: float
    latent_weights: Mapping[str, float]
    calibration: float
    extrapolating: bool


class Flag(StrEnum):
    """Reasons to read an estimate with care."""

    EXTRAPOLATING = "extrapolating"
    FEW_VALID = "few-valid"
    STALE_CALIBRATION = "stale-calibration"
    PROVISIONAL_INTERVAL = "provisional-interval"
    FEW_RESIDUALS = "few-residuals"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreEstimate:
    """Full pass rate of a run, estimated from the questions it answered.

    Pass rates are fractions in [0, 1].

    Attributes
    ----------
    pass_rate : float
    low, high : float
        Interval for *this run's* full pass rate.
    rerun_low, rerun_high : float
        Interval for the full pass rate of the same agent, run again.
    level : float
        Nominal coverage of both intervals.
    method : str
        Name of the method, e.g. ``stratified+gpirt``.
    n_asked, n_valid, n_reused : int
        Questions asked, with a valid verdict, and reused from the cache.
    theta : AbilityEstimate or None
    model_fingerprint : str
    flags : tuple of Flag
    distribution : ScoreDistribution or None
        The score's posterior under the model, for methods that have one. It is narrower
        than the interval, which has the replayed runs behind it.
    diagnostics : HsprDiagnostics or None
        Of estimates by HSPR.
    """

    pass_rate: float
    low: float
    high: float
    rerun_low: float
    rerun_high: float
    level: float
    method: str
    n_asked: int
    n_valid: int
    n_reused: int = 0
    theta: AbilityEstimate | None = None
    model_fingerprint: str = ""
    flags: tuple[Flag, ...] = ()
    distribution: ScoreDistribution | None = None
    diagnostics: HsprDiagnostics | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.low <= self.pass_rate <= self.high <= 1.0:
            raise ValueError(
                f"estimate {self.pass_rate} is not inside its interval [{self.low}, {self.high}]"
            )
        if not 0.0 <= self.rerun_low <= self.rerun_high <= 1.0:
            raise ValueError("the rerun interval is not inside [0, 1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Estimated full pass rates of m runs under one fitted model.

    Attributes
    ----------
    pass_rate : ndarray, shape (m,)
        Fractions, not yet moved into the feasible range; NaN where there is no estimate.
    model_sd : ndarray, shape (m,)
        Of each run's score, under the model.
    rerun_variance : ndarray, shape (m,)
        Added to the variance about the run's score it gives that about the agent's expected
        score.
    ability : tuple of AbilityEstimate, length m
    fingerprint : str
        Of the model.
    extrapolating : ndarray of bool, shape (m,)
        Runs that the model itself finds unlike every run it was fitted on.
    distribution : tuple of ScoreDistribution, or None
        One for each run, of models that have a posterior of the score.
    diagnostics : tuple of HsprDiagnostics, or None
    """

    pass_rate: NDArray[np.float64]
    model_sd: NDArray[np.float64]
    rerun_variance: NDArray[np.float64]
    ability: tuple[AbilityEstimate, ...]
    fingerprint: str
    extrapolating: NDArray[np.bool_]
    distribution: tuple[ScoreDistribution, ...] | None = None
    diagnostics: tuple[HsprDiagnostics, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResidual:
    """What a method would have said of one run, and what the run's full score was.

    Attributes
    ----------
    run_id, method : str
    k : int
        Questions asked.
    estimate, full_pass_rate : float
        Fractions; the score is the mean over the run's valid questions.
    model_sd : float
        The model's standard deviation of the estimate.
    """

    run_id: str
    method: str
    k: int
    estimate: float
    full_pass_rate: float
    model_sd: float

    @property
    def error(self) -> float:
        """Estimate less full pass rate."""
        return self.estimate - self.full_pass_rate
