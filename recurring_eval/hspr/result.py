"""Posterior of the score, a mixture of sums of Beta-binomial counts, and the decision on it."""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from recurring_eval.hspr.evaluation import Evaluation
from recurring_eval.hspr.group_rates import baseline_odds, beta_parameters
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.records import HsprDiagnostics, ScoreDistribution

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]

EXACT_QUESTIONS: Final = 60
"""Unasked questions up to which the counts are convolved exactly."""

EXACT_WORK: Final = 4_000_000
"""Nodes times squared unasked questions up to which they are as well: few nodes cost little."""

BINS_PER_QUESTION: Final = 8
"""Nodes whose expected passes differ by less than 1/8 question are merged."""

REACH: Final = 9.0
"""Standard deviations around a node's mean that its lattice covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePosterior:
    """Distribution of a score over N questions.

    Attributes
    ----------
    distribution : ScoreDistribution
    mean, sd : float
        Of the weighted nodes, without the pmf's approximation.
    median : float
        Smallest value whose cumulative probability is one half or more.
    """

    distribution: ScoreDistribution
    mean: float
    sd: float
    median: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes:
    """Central moments of the unasked passes at each node, and the nodes' weights."""

    weight: Floats
    mean: Floats
    variance: Floats
    third: Floats


def score_posterior(
    posterior: NodePosterior, unasked: Counts, *, observed_passes: float, n_questions: int
) -> ScorePosterior:
    """Posterior of ``(observed passes + unasked passes) / N``.

    The unasked counts are convolved exactly for small banks. Otherwise each node's
    sum is a lattice Edgeworth expansion with its mean, variance and skewness; the
    sum plus a uniform variable on (-1/2, 1/2) has the same cumulative probability at
    ``k + 1/2``, so that the expansion is that of a continuous variable.

    Parameters
    ----------
    posterior : NodePosterior
    unasked : ndarray of int, shape (G,)
        Questions of each group that the score counts and that have no outcome.
    observed_passes : float
        Sum of passes/trials of the answered questions that the score counts.
    n_questions : int
        Questions N that the score counts.
    """
    total = int(unasked.sum())
    nodes = _cumulants(posterior, unasked)
    mean = float(nodes.weight @ nodes.mean)
    variance = float(nodes.weight @ (nodes.variance + (nodes.mean - mean) ** 2))
    if total <= EXACT_QUESTIONS or posterior.n_nodes * total**2 <= EXACT_WORK:
        counts = _convolved(posterior, unasked)
    else:
        counts = _edgeworth(_merged(nodes), total)
    counts = counts / counts.sum()
    whole = math.floor(observed_passes + 1e-9)
    pmf = np.zeros(n_questions + 1)
    pmf[whole : whole + total + 1] = counts
    values = np.minimum((np.arange(n_questions + 1) + (observed_passes - whole)) / n_questions, 1.0)
    middle = int(np.argmax(np.cumsum(counts) >= 0.5 - 1e-12))
    return ScorePosterior(
        distribution=ScoreDistribution(values=values, pmf=pmf),
        mean=(observed_passes + mean) / n_questions,
        sd=math.sqrt(max(variance, 0.0)) / n_questions,
        median=(observed_passes + middle) / n_questions,
    )


def _cumulants(posterior: NodePosterior, unasked: Counts) -> _Nodes:
    """Sum each node's Beta-binomial moments over the groups with unasked questions."""
    kappa = posterior.config.kappa
    moments = np.zeros((3, posterior.n_nodes))
    moments[0] = unasked[posterior.sign < 0].sum()
    for part, rows in posterior.blocks():
        count = unasked[rows].astype(posterior.rare.dtype)
        if not count.any():
            continue
        sign = posterior.sign[rows].astype(posterior.rare.dtype)
        rare, concentration, both = posterior.rate_block(part, rows)
        concentration *= kappa
        others = np.maximum(count - 1.0, 0.0)[:, np.newaxis]
        both *= 1.0 + others / (concentration + 1.0)
        moments[0, part.columns] += (sign * count) @ rare
        moments[1, part.columns] += count @ both
        both *= (1.0 - 2.0 * rare) * (1.0 + 2.0 * others / (concentration + 2.0))
        moments[2, part.columns] += (sign * count) @ both
    return _Nodes(weight=posterior.weights, mean=moments[0], variance=moments[1], third=moments[2])


def _convolved(posterior: NodePosterior, unasked: Counts) -> Floats:
    """Exact pmf of the unasked passes, shape (total + 1,)."""
    kappa = posterior.config.kappa
    pmf = np.ones((1, posterior.n_nodes))
    for group in np.flatnonzero(unasked):
        odds = baseline_odds(posterior.logits(int(group)))
        a, f = beta_parameters(odds, kappa, posterior.passes[group], posterior.fails[group])
        n = int(unasked[group])
        rising_a, rising_f, rising = (_log_rising(x, n, kappa) for x in (a, f, a + f))
        choose = np.log(special.comb(n, np.arange(n + 1)))[:, np.newaxis]
        own = np.exp(choose + rising_a + rising_f[::-1] - rising[n])
        sums = np.zeros((len(pmf) + n, posterior.n_nodes))
        for k in range(n + 1):
            sums[k : k + len(pmf)] += own[k] * pmf
        pmf = sums
    return np.asarray(pmf @ posterior.weights)


def _log_rising(start: Floats, n: int, kappa: float) -> Floats:
    """Log rising factorials of 0..n terms, each divided by kappa, shape (n + 1, J)."""
    terms = np.log(start + (np.arange(n) / kappa)[:, np.newaxis])
    return np.concatenate([np.zeros((1, len(start))), np.cumsum(terms, axis=0)])


def _merged(nodes: _Nodes) -> _Nodes:
    """Merge nodes of nearly equal mean, keeping the first three moments of each bin."""
    label = np.floor(nodes.mean * BINS_PER_QUESTION).astype(np.intp)
    label -= label.min()
    weights = np.asarray(np.bincount(label, nodes.weight), dtype=np.float64)
    kept = weights > 0
    weight = weights[kept]

    def average(values: Floats) -> Floats:
        return np.asarray(np.bincount(label, nodes.weight * values)[kept] / weight)

    mean = average(nodes.mean)
    centre = np.zeros(len(kept))
    centre[kept] = mean
    away = nodes.mean - centre[label]
    return _Nodes(
        weight=weight,
        mean=mean,
        variance=average(nodes.variance + away**2),
        third=average(nodes.third + 3.0 * away * nodes.variance + away**3),
    )


def _edgeworth(nodes: _Nodes, total: int) -> Floats:
    """Lattice pmf of the mixture on 0..total."""
    variance = nodes.variance + 1.0 / 12.0
    sd = np.sqrt(variance)
    low = max(0, math.floor(float((nodes.mean - REACH * sd).min())))
    high = min(total, math.ceil(float((nodes.mean + REACH * sd).max())))
    skewness = nodes.third / (variance * sd)
    edges = np.arange(low, high)[:, np.newaxis] + 0.5
    h = (edges - nodes.mean) / sd
    density = np.exp(-(h**2) / 2.0) / math.sqrt(2.0 * math.pi)
    cumulative = (special.ndtr(h) - density * skewness * (h**2 - 1.0) / 6.0) @ nodes.weight
    cumulative = np.maximum.accumulate(np.clip(cumulative, 0.0, 1.0))
    pmf = np.zeros(total + 1)
    pmf[low : high + 1] = np.diff(cumulative, prepend=0.0, append=1.0)
    return pmf


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
