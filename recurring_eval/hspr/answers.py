"""Score a run from its answers, with the posterior of the agent's expected score."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.hspr.config import HsprConfig
from recurring_eval.hspr.evaluation import (
    Evaluation,
    question_order,
    require_population,
    require_verdicts,
)
from recurring_eval.hspr.model import HsprModel
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.hspr.result import HsprResult, estimate_score
from recurring_eval.one_thread import one_thread
from recurring_eval.records import AbilityEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredScore:
    """Score of a run with what its intervals and records need.

    Attributes
    ----------
    result : HsprResult
    ability : AbilityEstimate
        Posterior mean and variance of the scalar ability, in standardised logits of the
        sources' scores.
    rerun_variance : float
        Second moment of the estimate about the agent's expected score, less that about the
        run's own score.
    """

    result: HsprResult
    ability: AbilityEstimate
    rerun_variance: float


def score_answers(
    model: HsprModel,
    config: HsprConfig,
    passes: ArrayLike,
    trials: ArrayLike,
    *,
    population: NDArray[np.bool_] | None = None,
) -> AnsweredScore:
    """Score a run given the verdicts on the questions it was asked.

    The answers may come in any order: with `path_nodes` the final proposal is made from the
    counts alone.

    Parameters
    ----------
    model : HsprModel
    config : HsprConfig
    passes, trials : array_like of int, shape (N,)
        Aligned with ``model.question_ids``; no trials where nothing is known.
    population : ndarray of bool, shape (N,), optional
        Questions whose mean the score is; the whole bank by default.

    Raises
    ------
    InputError
        Shapes or counts are not acceptable.
    """
    successes, counts = require_verdicts(model, passes, trials)
    inside = require_population(model, population)
    order = question_order(model, None)
    evaluation = Evaluation(model, config, order)
    answered = [int(q) for q in np.argsort(order) if counts[q] > 0]
    with one_thread():
        evaluation.count([(q, int(successes[q]), int(counts[q])) for q in answered])
        posterior = evaluation.final_posterior()
        result = estimate_score(evaluation, inside, posterior)
        expected, variance = expected_score(posterior, inside)
    return AnsweredScore(
        result=result,
        ability=_ability(posterior, len(answered)),
        rerun_variance=variance
        - result.sd**2
        + (result.pass_rate - expected) ** 2
        - (result.pass_rate - result.mean) ** 2,
    )


def _ability(posterior: NodePosterior, n_observed: int) -> AbilityEstimate:
    """Moments of the first latent coordinate, which every latent prior shares."""
    theta = np.concatenate([part.nodes[0] for part in posterior.components])
    mean = float(posterior.weights @ theta)
    variance = float(posterior.weights @ (theta - mean) ** 2)
    return AbilityEstimate(
        theta=np.array([mean]), covariance=np.array([[variance]]), n_observed=n_observed
    )


def expected_score(posterior: NodePosterior, population: NDArray[np.bool_]) -> tuple[float, float]:
    """Mean and variance of the average group rate over a population's questions.

    By the law of total variance over the nodes: within a node the group rates are
    independent with HSPR's tau^2 (Appendix B), and a group counts with its questions.

    Parameters
    ----------
    posterior : NodePosterior
    population : ndarray of bool, shape (N,)
    """
    groups = posterior.model.group_of_question[population]
    size = np.bincount(groups, minlength=posterior.model.n_groups).astype(np.float64)
    mean = np.full(posterior.n_nodes, size[posterior.sign < 0].sum())
    within = np.zeros(posterior.n_nodes)
    for part, rows in posterior.blocks():
        rare, concentration, both = posterior.rate_block(part, rows)
        count = size[rows].astype(rare.dtype)
        mean[part.columns] += (posterior.sign[rows].astype(rare.dtype) * count) @ rare
        both /= posterior.config.kappa * concentration + 1.0
        within[part.columns] += count**2 @ both
    average = float(posterior.weights @ mean)
    variance = float(posterior.weights @ (within + (mean - average) ** 2))
    n = len(groups)
    return average / n, variance / n**2
