"""Numerical checks of an evaluation (HSPR, Appendix E) and its support (Appendix F)."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.hspr.config import N_NODES
from recurring_eval.hspr.model import HsprModel
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.hspr.result import estimate_score, prepare_decision
from recurring_eval.methods.session import Session
from tests.reference.hspr_draws import (
    MAX_DRAWS,
    N_DRAWS,
    PredictiveDraws,
    draw_median,
    draw_scores,
)
from tests.reference.hspr_runs import evaluation_of

SCORE_TOLERANCE: Final = 5e-4
"""Largest difference on the score scale that two resolutions may show."""

REFERENCE_NODES: Final = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionCheck:
    """The same quantity at two numerical resolutions, on one history.

    Attributes
    ----------
    coarse, fine : int
        Nodes, or draws.
    difference : float
        Largest absolute difference of the score's mean and of the calibrated
        estimate (nodes), or of the medians (draws); pass-rate units.
    tolerance : float
    """

    coarse: int
    fine: int
    difference: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the coarser resolution is fine enough."""
        return self.difference <= self.tolerance


def integration_resolution(
    session: Session,
    *,
    n_nodes: int = N_NODES,
    reference_nodes: int = REFERENCE_NODES,
    tolerance: float = SCORE_TOLERANCE,
) -> ResolutionCheck:
    """Compare two numbers of nodes on the session's history.

    Both posteriors get a proposal at the end of the history. The mean decision is
    compared: the median moves in steps of 1/N.
    """
    means, estimates = [], []
    for count in (n_nodes, reference_nodes):
        evaluation = evaluation_of(session)
        model, config = evaluation.model, evaluation.config
        posterior = NodePosterior(model, config, n_nodes=count)
        for outcome in evaluation.posterior().history:
            posterior.count(outcome)
        posterior.refresh()
        decision = prepare_decision(evaluation, posterior, _bank(model))
        means.append(decision.score.mean)
        estimates.append(decision.pass_rate("mean", config.lambda_))
    difference = max(abs(means[0] - means[1]), abs(estimates[0] - estimates[1]))
    return ResolutionCheck(
        coarse=n_nodes, fine=reference_nodes, difference=difference, tolerance=tolerance
    )


def draw_session_median(
    session: Session,
    *,
    n_draws: int = N_DRAWS,
    max_draws: int = MAX_DRAWS,
    rng: np.random.Generator,
) -> PredictiveDraws:
    """Median of complete score draws, as published, with its numerical precision."""
    evaluation = evaluation_of(session)
    bank = _bank(evaluation.model)
    return draw_median(
        evaluation.final_posterior(),
        evaluation.unasked_counts(bank),
        observed_passes=float(np.nansum(evaluation.rates)),
        n_questions=evaluation.model.n_questions,
        analytic_mean=estimate_score(evaluation, bank).mean,
        n_draws=n_draws,
        max_draws=max_draws,
        rng=rng,
    )


def draw_resolution(
    session: Session,
    *,
    n_draws: int = N_DRAWS // 2,
    reference_draws: int = N_DRAWS,
    rng: np.random.Generator,
) -> ResolutionCheck:
    """Compare the medians of two numbers of draws; they may differ by one question."""
    evaluation = evaluation_of(session)
    posterior = evaluation.final_posterior()
    n_questions = evaluation.model.n_questions
    bank = _bank(evaluation.model)
    medians = [
        float(
            np.median(
                draw_scores(
                    posterior,
                    evaluation.unasked_counts(bank),
                    observed_passes=float(np.nansum(evaluation.rates)),
                    n_questions=n_questions,
                    n_draws=count,
                    rng=rng,
                )
            )
        )
        for count in (n_draws, reference_draws)
    ]
    return ResolutionCheck(
        coarse=n_draws,
        fine=reference_draws,
        difference=abs(medians[0] - medians[1]),
        tolerance=1.0 / n_questions + 1e-12,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How far the sources' failures transfer to a target (HSPR, Table 7).

    Attributes
    ----------
    source_zero_share : float
        Share of the bank's questions that no source passed.
    target_success : float
        Target's pass rate among them, from its full run; NaN where there are none.
    query_coverage : float
        Share of the asked questions that are among them.
    """

    source_zero_share: float
    target_success: float
    query_coverage: float


def support(model: HsprModel, passes: ArrayLike, trials: ArrayLike, asked: ArrayLike) -> Support:
    """Support of a target's evaluation, computed after its full run is known.

    Parameters
    ----------
    model : HsprModel
    passes, trials : array_like of int, shape (N,)
    asked : array_like of int
        Positions of the questions that were asked.
    """
    zero = model.source_zero[model.group_of_question]
    counts = np.asarray(trials, dtype=np.float64)
    known = zero & (counts > 0)
    rates = np.asarray(passes, dtype=np.float64)[known] / counts[known]
    positions = np.asarray(asked, dtype=np.intp)
    return Support(
        source_zero_share=model.source_zero_share,
        target_success=float(rates.mean()) if len(rates) else float("nan"),
        query_coverage=float(zero[positions].mean()) if len(positions) else 0.0,
    )


def _bank(model: HsprModel) -> NDArray[np.bool_]:
    return np.ones(model.n_questions, dtype=np.bool_)
