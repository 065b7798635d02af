"""FAQ: questions drawn by a factor model, and pro-active inference."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.faq import faq_runs
from recurring_eval.baselines.logistic_factorisation import Factorisation, select_factorisation
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix

Floats = NDArray[np.float64]


def _rates(targets: ResponseMatrix) -> Floats:
    rates = np.zeros(targets.trials.shape)
    np.divide(targets.passes, targets.trials, out=rates, where=targets.trials > 0)
    return rates


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqScorer:
    """Question factors, and the spread of the source runs' factors as prior."""

    factors: Factorisation

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Ask each target its own randomised questions."""
        runs = self.factors.runs
        found = faq_runs(
            self.factors.questions,
            runs.mean(axis=0),
            np.atleast_2d(np.cov(runs, rowvar=False)),
            _rates(targets),
            targets.trials > 0,
            k,
            draws=rng.random((targets.n_runs, k)),
        )
        return Scored(score=found.score, observed=found.asked)


def fit_faq(source: ResponseMatrix, rng: np.random.Generator) -> FaqScorer:
    """Factorise the source; `rng` shares its cells out to the validation folds."""
    return FaqScorer(factors=select_factorisation(source.passes, source.trials, rng=rng))


FAQ: Final = ReplayMethod(
    name="faq",
    description="Questions drawn by a factor model, without replacement; pro-active inference.",
    source="Wu, Nair and Candès 2026; HSPR's port, corrected",
    fit=fit_faq,
)
