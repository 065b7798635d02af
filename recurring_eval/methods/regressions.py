"""Baselines that regress on verdicts: Mid-Range, Random-Sampling-Learn and AIPW."""

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from recurring_eval.ability import estimate_abilities
from recurring_eval.calibration.models import RaschModel
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.estimators import weighted_score
from recurring_eval.irt import imputed_rates
from recurring_eval.methods.estimate import LEVEL
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates
from recurring_eval.validation import require_subset_size


def midrange_questions(
    passes: NDArray[np.integer], trials: NDArray[np.integer], k: int
) -> NDArray[np.intp]:
    """Positions of the k questions with historical pass rates nearest one half, nearest first.

    Equally near questions come in their own order, compared without rounding;
    questions without a verdict come last. Their plain mean ranks runs
    but is not their score: it is some 20 percentage points off by construction.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (n,)
        Totals of the history by question.
    k : int
        ``1 <= k <= n``.

    References
    ----------
    Ndzomga 2026, as HSPR uses it: the k nearest instead of all within 30-70 %.
    """
    require_subset_size(k, len(trials))
    # One correctly rounded division of integers: equal distances are equal floats.
    distance = np.divide(
        np.abs(2 * np.asarray(passes, dtype=np.int64) - trials),
        trials,
        out=np.full(len(trials), np.inf),
        where=trials > 0,
    )
    return np.argsort(distance, kind="stable")[:k]


PENALTIES: Final = (0.1, 1.0, 10.0)


def ridge_scores(
    source_rates: NDArray[np.float64],
    source_scores: NDArray[np.float64],
    target_rates: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Predict the scores of targets by a regression fitted on the source, unclipped.

    The penalty is the one of .1, 1 and 10 with the smallest squared
    leave-one-out error; there is an unpenalised intercept and no scaling.

    Parameters
    ----------
    source_rates : ndarray, shape (m, k)
        Pass rates of source runs on the chosen questions, without missing values.
    source_scores : ndarray, shape (m,)
    target_rates : ndarray, shape (m2, k)

    Returns
    -------
    ndarray, shape (m2,)

    Raises
    ------
    NotEnoughDataError
        There are fewer than two source runs.

    References
    ----------
    Zhang, Dorner and Hardt 2025 (Random-Sampling-Learn); Mid-Range with Ridge in HSPR.
    """
    if len(source_rates) < 2:
        raise NotEnoughDataError("a ridge regression needs at least 2 source runs with a verdict")
    from sklearn.linear_model import RidgeCV

    # Its threads came with the import, and are limited from here on.
    with one_thread():
        model = RidgeCV(alphas=PENALTIES).fit(source_rates, source_scores)
    return np.asarray(model.predict(target_rates), dtype=np.float64)


Floats = NDArray[np.float64]

PENALTY: Final = 10.0


def aipw_score(
    outcomes: Floats, fitted_asked: Floats, fitted_rest: Floats, *, residuals: Floats | None = None
) -> float:
    r"""Finite-population estimate, exact once everything is asked.

    :math:`(B \bar y_C + |U| (\bar f_U + \bar e_C)) / N` with mean residual
    :math:`\bar e_C`.

    Parameters
    ----------
    outcomes, fitted_asked : ndarray, shape (B,)
        Of the asked questions.
    fitted_rest : ndarray, shape (N - B,)
        Predictions of the others.
    residuals : ndarray, shape (B,), optional
        Errors of predictions that did not see their own outcome; by default
        ``outcomes - fitted_asked``, whose mean is zero after a regression with
        an intercept, so that the correction would do nothing.

    References
    ----------
    Zhang, Dorner and Hardt 2025, in the form for a finite population.
    """
    errors = outcomes - fitted_asked if residuals is None else residuals
    n_rest = len(fitted_rest)
    rest = float(fitted_rest.sum()) + n_rest * float(errors.mean())
    return (float(outcomes.sum()) + rest) / (len(outcomes) + n_rest)


def aipw_scores(
    features: Floats,
    rates: Floats,
    observed: NDArray[np.bool_],
    population: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """Estimate many runs, each by a ridge regression of its own outcomes.

    Residuals are leave-one-out, in closed form.

    Parameters
    ----------
    features : ndarray, shape (n, p)
        Of each question: its pass rates in the source runs, without missing values.
    rates : ndarray, shape (m, n)
        Outcomes of the runs, read where `observed`.
    observed, population : ndarray of bool, shape (m, n)
        Asked questions with a valid verdict, and the questions a score is the mean of.

    Returns
    -------
    score, standard_error : ndarray, shape (m,)
        NaN for a run without an observed question; the standard error is NaN
        with fewer than two.
    """
    score = np.full(len(rates), np.nan)
    error = np.full(len(rates), np.nan)
    patterns, of_run = np.unique(observed, axis=0, return_inverse=True)
    for i, asked in enumerate(patterns):
        rows = np.flatnonzero(of_run.ravel() == i)
        if not asked.any():
            continue
        fitted, left_out = _ridge(features, rates[rows][:, asked], asked)
        for row, prediction, residual in zip(rows, fitted, left_out, strict=True):
            inside = population[row]
            n_asked, n = int((asked & inside).sum()), int(inside.sum())
            score[row] = aipw_score(
                rates[row, asked],
                prediction[asked],
                prediction[inside & ~asked],
                residuals=residual,
            )
            if n_asked > 1:
                error[row] = np.sqrt((1.0 - n_asked / n) * residual.var(ddof=1) / n_asked)
    return score, error


def _ridge(features: Floats, outcomes: Floats, asked: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Predictions of all questions (r, n) and leave-one-out residuals (r, B) of r runs."""
    centre = features[asked].mean(axis=0)
    design = features[asked] - centre
    level = outcomes.mean(axis=1, keepdims=True)
    gram = design.T @ design + PENALTY * np.eye(features.shape[1])
    solved = np.linalg.solve(gram, design.T)
    coefficients = (outcomes - level) @ solved.T
    fitted = level + coefficients @ (features - centre).T
    leverage = 1.0 / len(design) + np.einsum("bp,pb->b", design, solved)
    # A single outcome determines the intercept: its leverage is one, nothing is left to learn.
    left_out = (outcomes - fitted[:, asked]) / np.maximum(1.0 - leverage, 1e-9)
    return fitted, left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Source runs and the Rasch model that imputes their missing cells."""

    runs: ResponseMatrix
    model: RaschModel
    rates: Floats

    @classmethod
    def of(cls, runs: ResponseMatrix) -> "Source":
        """Fit the model and fill the cells."""
        model = fit_rasch(runs)
        rates = imputed_rates(
            runs.passes, runs.trials, ability=model.ability, difficulty=model.difficulty
        )
        return cls(runs=runs, model=model, rates=rates)

    def midrange(self, k: int) -> NDArray[np.intp]:
        """Positions of the k questions with pass rates nearest one half."""
        return midrange_questions(*self.runs.question_totals(), k)


def observed_on(targets: ResponseMatrix, chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Chosen questions with a valid verdict, shape (m, n)."""
    asked = np.zeros(targets.n_questions, dtype=np.bool_)
    asked[chosen] = True
    return (targets.trials > 0) & asked


def _target_rates(source: Source, targets: ResponseMatrix, observed: NDArray[np.bool_]) -> Floats:
    """Rates of the observed questions; others as the Rasch model predicts from these."""
    passes, trials = np.where(observed, targets.passes, 0), np.where(observed, targets.trials, 0)
    ability = estimate_abilities(source.model, passes, trials)
    return imputed_rates(passes, trials, ability=ability, difficulty=source.model.difficulty)


def score_midrange(
    source: Source, targets: ResponseMatrix, k: int, _rng: np.random.Generator
) -> Scored:
    """Average the valid outcomes on the questions nearest one half."""
    observed = observed_on(targets, source.midrange(k))
    score = weighted_score(targets.passes, targets.trials, observed.astype(np.float64))
    return Scored(score=score, observed=observed)


def score_midrange_ridge(
    source: Source, targets: ResponseMatrix, k: int, _rng: np.random.Generator
) -> Scored:
    """Regress scores on the questions nearest one half."""
    return _ridge_on(source, targets, source.midrange(k))


def score_rsl(source: Source, targets: ResponseMatrix, k: int, rng: np.random.Generator) -> Scored:
    """Regress scores on random questions."""
    return _ridge_on(source, targets, rng.permutation(targets.n_questions)[:k])


def _ridge_on(source: Source, targets: ResponseMatrix, chosen: NDArray[np.intp]) -> Scored:
    """Fit on the source's verdicts on the chosen questions, predict every target."""
    observed = observed_on(targets, chosen)
    score = ridge_scores(
        source.rates[:, chosen],
        source.runs.pass_rates(),
        _target_rates(source, targets, observed)[:, chosen],
    )
    return Scored(score=score, observed=observed)


def score_aipw(source: Source, targets: ResponseMatrix, k: int, rng: np.random.Generator) -> Scored:
    """Estimate each target on random questions, with a normal interval from its residuals."""
    observed = observed_on(targets, rng.permutation(targets.n_questions)[:k])
    rates = outcome_rates(targets.passes, targets.trials)
    score, error = aipw_scores(source.rates.T, rates, observed, targets.trials > 0)
    half = stats.norm.ppf((1.0 + LEVEL) / 2.0) * error
    return Scored(score=score, observed=observed, low=score - half, high=score + half)


MIDRANGE: Final = ReplayMethod(
    name="midrange",
    description="Questions passed about half of the time and their plain mean, for ranking.",
    source="Ndzomga 2026",
    fit=lambda runs, _: partial(score_midrange, Source.of(runs)),
)

MIDRANGE_RIDGE: Final = ReplayMethod(
    name="midrange-ridge",
    description="The same questions; a ridge regression maps their outcomes to scores.",
    source="Ndzomga 2026, with HSPR's ridge",
    fit=lambda runs, _: partial(score_midrange_ridge, Source.of(runs)),
)

RSL: Final = ReplayMethod(
    name="rsl",
    description="Random questions; a ridge regression maps their outcomes to scores.",
    source="Zhang, Dorner and Hardt 2025",
    fit=lambda runs, _: partial(score_rsl, Source.of(runs)),
)


AIPW: Final = ReplayMethod(
    name="aipw",
    description="Random questions; a regression over questions corrected by its own errors.",
    source="Zhang, Dorner and Hardt 2025, finite-population form",
    fit=lambda runs, _: partial(score_aipw, Source.of(runs)),
)
