"""Estimate of a target's full score, with its posterior and diagnostics."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr.evaluation import Evaluation
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.hspr.score_posterior import ScorePosterior, score_posterior
from recurring_eval.records import HsprDiagnostics, ScoreDistribution


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprResult:
    """Score of a target, estimated from the questions it answered.

    Attributes
    ----------
    pass_rate : float
        Calibrated decision, inside the feasible range; exact at full budget.
    mean, sd, median : float
        Of the score's posterior, before calibration.
    distribution : ScoreDistribution
        The score's posterior over N + 1 values, before calibration.
    asked : tuple of str
        Questions in the order they were asked, those without a verdict included.
    n_valid : int
        Questions with a valid verdict; the budget spent.
    diagnostics : HsprDiagnostics
    """

    pass_rate: float
    mean: float
    sd: float
    median: float
    distribution: ScoreDistribution
    asked: tuple[str, ...]
    n_valid: int
    diagnostics: HsprDiagnostics


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Posterior of the score and what calibration needs, before a decision is taken.

    Attributes
    ----------
    score : ScorePosterior
    correction : float
        ``(1 - B/N) R_B`` of equation (16).
    low, high : float
        Feasible range of the score given the observed outcomes.
    """

    score: ScorePosterior
    correction: float
    low: float
    high: float

    def pass_rate(self, decision: Literal["median", "mean"], lambda_: float) -> float:
        """Calibrated estimate of equation (16), clipped to the feasible range."""
        raw = self.score.median if decision == "median" else self.score.mean
        return float(np.clip(raw + lambda_ * self.correction, self.low, self.high))


def prepare_decision(
    evaluation: Evaluation, posterior: NodePosterior, population: NDArray[np.bool_]
) -> Decision:
    """Posterior of the mean over `population`, a mask of shape (N,)."""
    counted = population & ~np.isnan(evaluation.rates)
    n_questions, n_observed = int(population.sum()), int(counted.sum())
    observed = float(evaluation.rates[counted].sum())
    score = score_posterior(
        posterior,
        evaluation.unasked_counts(population),
        observed_passes=observed,
        n_questions=n_questions,
    )
    return Decision(
        score=score,
        correction=(1.0 - n_observed / n_questions) * mean_residual(evaluation, posterior),
        low=observed / n_questions,
        high=(observed + n_questions - n_observed) / n_questions,
    )


def estimate_score(
    evaluation: Evaluation,
    population: NDArray[np.bool_],
    posterior: NodePosterior | None = None,
) -> HsprResult:
    """Calibrated decision of equation (16) with the posterior behind it.

    Parameters
    ----------
    evaluation : Evaluation
    population : ndarray of bool, shape (N,)
        Questions whose mean the score is.
    posterior : NodePosterior, optional
        The evaluation's final posterior, where the caller has it already.
    """
    config = evaluation.config
    posterior = evaluation.final_posterior() if posterior is None else posterior
    decision = prepare_decision(evaluation, posterior, population)
    score = decision.score
    pass_rate = decision.pass_rate(config.decision, config.lambda_)
    uncalibrated = decision.pass_rate(config.decision, 0.0)
    return HsprResult(
        pass_rate=pass_rate,
        mean=score.mean,
        sd=score.sd,
        median=score.median,
        distribution=score.distribution,
        asked=tuple(evaluation.model.question_ids[q] for q, _, _ in evaluation.answers),
        n_valid=evaluation.n_observed,
        diagnostics=_diagnostics(evaluation, posterior, score, pass_rate - uncalibrated),
    )


def mean_residual(evaluation: Evaluation, posterior: NodePosterior) -> float:
    """Observed pass rates less posterior group rates, averaged: R_B of equation (15)."""
    answered = np.flatnonzero(~np.isnan(evaluation.rates))
    if not len(answered):
        return 0.0
    group = evaluation.model.group_of_question[answered]
    observed_groups, counts = np.unique(group, return_counts=True)
    rare = posterior.rare[observed_groups].astype(np.float64) @ posterior.weights
    rate = np.where(posterior.sign[observed_groups] > 0, rare, 1.0 - rare)
    return float((evaluation.rates[answered].sum() - counts @ rate) / len(answered))


def _diagnostics(
    evaluation: Evaluation, posterior: NodePosterior, score: ScorePosterior, calibration: float
) -> HsprDiagnostics:
    model, config = evaluation.model, evaluation.config
    answered = ~np.isnan(evaluation.rates)
    zero = model.source_zero[model.group_of_question[answered]]
    return HsprDiagnostics(
        configuration=config.name,
        effective_sample_size=posterior.effective_sample_size,
        n_nodes=posterior.n_nodes,
        n_groups=model.n_groups,
        n_sources=len(model.source_ids),
        source_zero_share=model.source_zero_share,
        queried_source_zero_share=float(zero.mean()) if len(zero) else 0.0,
        latent_weights={
            part.prior.name: float(posterior.weights[part.columns].sum())
            for part in posterior.components
        },
        calibration=calibration,
        extrapolating=not (model.source_scores.min() <= score.mean <= model.source_scores.max()),
    )
