"""Score of one run before it gets its interval, whichever model gave it."""

from dataclasses import dataclass

from recurring_eval.errors import InputError
from recurring_eval.hspr import HsprCalibration, score_answers
from recurring_eval.methods.evidence import Evidence
from recurring_eval.methods.method import Method
from recurring_eval.records import AbilityEstimate, HsprDiagnostics, ScoreDistribution


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """What an interval and a record of the estimate are made of.

    Attributes
    ----------
    pass_rate : float
        Clipped to the feasible range by the caller.
    model_sd : float
        Of the run's score, under the model.
    rerun_variance : float
        Added to the variance about the run's score it gives that about the agent's expected
        score.
    ability : AbilityEstimate
    extrapolating : bool
        The run is better or worse than every run the model knows.
    fingerprint : str
        Of the model.
    distribution : ScoreDistribution or None
    diagnostics : HsprDiagnostics or None
    """

    pass_rate: float
    model_sd: float
    rerun_variance: float
    ability: AbilityEstimate
    extrapolating: bool
    fingerprint: str
    distribution: ScoreDistribution | None = None
    diagnostics: HsprDiagnostics | None = None


def score_run(
    method: Method, evidence: Evidence, *, hspr: HsprCalibration | None, exact: float | None
) -> ScoredRun:
    """Score the only run of `evidence`.

    Parameters
    ----------
    method : Method
    evidence : Evidence
    hspr : HsprCalibration or None
    exact : float or None
        The score where nothing is left to estimate: no method needs anything then.

    Raises
    ------
    InputError
        If the method needs an HSPR calibration and there is none, or it has other
        questions.
    """
    if method.needs_hspr and (hspr is not None or exact is None):
        return _by_hspr(evidence, hspr)
    variance = evidence.variance()
    return ScoredRun(
        pass_rate=float(method.scores(evidence)[0]) if exact is None else exact,
        model_sd=float(variance.model_sd[0]),
        rerun_variance=float(variance.rerun_variance[0]),
        ability=AbilityEstimate(
            theta=evidence.ability,
            covariance=variance.covariance[0],
            n_observed=int((evidence.trials > 0).sum()),
        ),
        extrapolating=_outside_the_calibration(evidence),
        fingerprint=evidence.model.fingerprint,
    )


def _outside_the_calibration(evidence: Evidence) -> bool:
    known = evidence.model.ability
    return not known.min() <= float(evidence.ability[0]) <= known.max()


def _by_hspr(evidence: Evidence, hspr: HsprCalibration | None) -> ScoredRun:
    if hspr is None:
        raise InputError(
            "method 'hspr' needs fitted sources, which the calibration lacks; recalibrate with "
            '`hspr = "average"` or `hspr = "staged"`'
        )
    if hspr.model.question_ids != evidence.model.question_ids:
        raise InputError("the fitted sources of HSPR and the calibration have different questions")
    scored = score_answers(
        hspr.model,
        hspr.config,
        evidence.passes[0],
        evidence.trials[0],
        population=evidence.population[0],
    )
    result = scored.result
    return ScoredRun(
        pass_rate=result.pass_rate,
        model_sd=result.sd,
        rerun_variance=scored.rerun_variance,
        ability=scored.ability,
        # A prior around the sources' scores hides from HSPR how unlike them a run is.
        extrapolating=_outside_the_calibration(evidence) or result.diagnostics.extrapolating,
        fingerprint=hspr.model.fingerprint,
        distribution=result.distribution,
        diagnostics=result.diagnostics,
    )
