"""Estimate of a run's full pass rate."""

from dataclasses import dataclass
from enum import StrEnum

from recurring_eval.records.ability_estimate import AbilityEstimate
from recurring_eval.records.hspr_diagnostics import HsprDiagnostics
from recurring_eval.records.score_distribution import ScoreDistribution


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
