"""p-IRT with logistic factors, for whatever questions were asked."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.ability import posterior_modes
from recurring_eval.calibration.logistic_items import (
    fit_logistic_items,
    residual_factors,
    standardised_abilities,
)
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.estimators.score import score_with_predictions
from recurring_eval.irt import mirt_pass_probability, sigmoid, smoothed_logit
from recurring_eval.methods.replayed import Fit, ReplayMethod, Score, Scored
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates
from recurring_eval.subsets import pass_rate_strata

Floats = NDArray[np.float64]

RANK: Final = 4
ABILITY_PRECISION: Final = 0.25
FACTOR_PRECISION: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticFactors:
    r"""Items with :math:`\mathrm{logit}\,P = b_i + l_i^T z`, z a run's coordinates.

    Attributes
    ----------
    question_ids : tuple of str
        Length n.
    intercept : ndarray, shape (n,)
    loadings : ndarray, shape (n, 1 + rank)
        The slope of the general ability, then the residual factors.
    """

    question_ids: tuple[str, ...]
    intercept: Floats
    loadings: Floats


def fit_logistic_factors(source: ResponseMatrix, *, rank: int) -> LogisticFactors:
    """Fit every item on the runs' standardised scores, then factor the residuals.

    Intercepts start at the logit of the smoothed pass rate, which is their prior's mean too.
    Missing cells have no part in the items and a residual of zero.

    Parameters
    ----------
    source : ResponseMatrix
    rank : int
        Residual factors; those the source cannot support are zero.

    Raises
    ------
    NotEnoughDataError
        Fewer than two runs have a verdict.

    References
    ----------
    HSPR, item model.
    """
    answered = (source.trials > 0).any(axis=1)
    if answered.sum() < 2:
        raise NotEnoughDataError("a factor model needs at least 2 runs with a verdict")
    passes = source.passes[answered].astype(np.float64)
    trials = source.trials[answered].astype(np.float64)
    initial = smoothed_logit(passes.sum(axis=0), trials.sum(axis=0))
    ability = standardised_abilities(passes, trials)
    intercept, slope = fit_logistic_items(passes, trials, ability, initial)
    predicted = sigmoid(intercept + np.outer(ability, slope))
    residual = outcome_rates(passes, trials, missing=predicted) - predicted
    residual -= residual.mean(axis=0)
    factors = residual_factors(residual, (predicted * (1.0 - predicted)).mean(axis=0), rank)
    return LogisticFactors(
        question_ids=source.question_ids,
        intercept=intercept,
        loadings=np.column_stack([slope, factors]),
    )


def factor_scores(
    factors: LogisticFactors,
    passes: NDArray[np.integer],
    trials: NDArray[np.integer],
    *,
    asked: NDArray[np.bool_],
    population: NDArray[np.bool_],
) -> Floats:
    """Mean of observed outcomes and of predictions at the posterior mode, shape (m,).

    Coordinates have the prior N(0, 1/.25) for the ability and N(0, 1/4) for
    each residual factor.

    Parameters
    ----------
    factors : LogisticFactors
        n questions.
    passes, trials : ndarray of int, shape (m, n)
    asked : ndarray of bool, shape (n,) or (m, n)
    population : ndarray of bool, shape (m, n)
    """
    precision = np.full(factors.loadings.shape[1], FACTOR_PRECISION)
    precision[0] = ABILITY_PRECISION
    # In units of the prior's standard deviations every precision is one.
    slopes = factors.loadings / np.sqrt(precision)
    seen = (trials > 0) & asked
    used = np.where(seen, trials, 0).astype(np.float64)
    passed = np.where(seen, passes, 0).astype(np.float64)
    z = posterior_modes(
        slopes,
        -factors.intercept,
        passed,
        used,
        prior_mean=np.zeros(slopes.shape[1]),
        prior_precision=1.0,
    )
    predicted = mirt_pass_probability(z, slopes, -factors.intercept)
    return score_with_predictions(predicted, passed, used, population=population)


def _fit(*, stratified: bool) -> Fit:
    """Learn the items from the source, to ask random questions or such inside strata."""

    def fit(source: ResponseMatrix, _rng: np.random.Generator) -> Score:
        factors = fit_logistic_factors(source, rank=RANK)

        def score(targets: ResponseMatrix, k: int, rng: np.random.Generator) -> Scored:
            """Draw one set of questions for all targets and predict the rest."""
            if stratified:
                asked = pass_rate_strata(*source.question_totals(), k, rng=rng) > 0
            else:
                asked = np.zeros(targets.n_questions, dtype=np.bool_)
                asked[rng.permutation(targets.n_questions)[:k]] = True
            valid = targets.trials > 0
            found = factor_scores(
                factors, targets.passes, targets.trials, asked=asked, population=valid
            )
            return Scored(score=found, observed=valid & asked)

        return score

    return fit


RANDOM_FACTORS: Final = ReplayMethod(
    name="random+factors",
    description="Random questions; logistic items with four residual factors predict the others.",
    source="HSPR's item model",
    fit=_fit(stratified=False),
)

STRATIFIED_RANDOM_FACTORS: Final = ReplayMethod(
    name="stratified-random+factors",
    description="Random questions inside pass-rate strata; the same items predict the others.",
    source="HSPR's item model",
    fit=_fit(stratified=True),
)
