"""Adaptive methods of the product, prepared for replays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from recurring_eval.adaptive import replay_sessions
from recurring_eval.calibration import fit_rasch
from recurring_eval.calibration.mirt_selection import select_mirt
from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.response_matrix import ResponseMatrix

Model = RaschModel | MirtModel

_PRODUCTION_STUDY: Final = "She and Lin 2026"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveScorer:
    """An adaptive rule with the model it asks by."""

    rule: str
    model: Model
    standard_prior: bool

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Replay a session for each target; equally good questions come in a drawn order."""
        replayed = replay_sessions(
            self.model,
            targets.passes,
            targets.trials,
            method=self.rule,
            ks=(k,),
            prior_mean=self._zero_mean() if self.standard_prior else None,
            prior_precision=1.0 if self.standard_prior else None,
            tie_order=rng.permutation(self.model.n_questions),
        )
        rows, order = np.nonzero(replayed.asked >= 0)
        observed = np.zeros(targets.trials.shape, dtype=np.bool_)
        observed[rows, replayed.asked[rows, order]] = True
        estimates = replayed.estimates[0]
        return Scored(score=estimates.pass_rate, observed=observed, model_sd=estimates.model_sd)

    def _zero_mean(self) -> list[float]:
        return [0.0] * (self.model.n_dimensions if isinstance(self.model, MirtModel) else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitAdaptive:
    """Calibrates the model of an adaptive rule on source runs."""

    rule: str
    calibrate: Callable[[ResponseMatrix, np.random.Generator], Model]
    standard_prior: bool = False

    def __call__(self, source: ResponseMatrix, rng: np.random.Generator) -> AdaptiveScorer:
        """Fit the model."""
        return AdaptiveScorer(
            rule=self.rule,
            model=self.calibrate(source, rng),
            standard_prior=self.standard_prior,
        )


def calibrate_rasch(source: ResponseMatrix, rng: np.random.Generator) -> RaschModel:  # noqa: ARG001  nothing is drawn
    """Fit a Rasch model."""
    return fit_rasch(source)


def calibrate_mirt(source: ResponseMatrix, rng: np.random.Generator) -> MirtModel:
    """Fit a multidimensional model; `rng` draws the cells that choose its setting."""
    return select_mirt(source, rng=rng)


RASCH_CAT: Final = ReplayMethod(
    name="rasch-cat",
    description="One question at a time, where the Rasch model is least certain; p-IRT.",
    prepare=PrepareInOrder(fit=FitAdaptive(rule="rasch-cat", calibrate=calibrate_rasch)),
    product=True,
    source=_PRODUCTION_STUDY,
)

MIRT_CAT: Final = ReplayMethod(
    name="mirt-cat",
    description="One question at a time, D-optimal for several abilities; p-IRT.",
    prepare=PrepareInOrder(fit=FitAdaptive(rule="mirt-cat", calibrate=calibrate_mirt)),
    product=True,
    source=_PRODUCTION_STUDY,
)

MIRT_CAT_STANDARD_PRIOR: Final = ReplayMethod(
    name="mirt-cat+standard-prior",
    description="The same with the published N(0, I) prior, which hides an improvement.",
    prepare=PrepareInOrder(
        fit=FitAdaptive(rule="mirt-cat", calibrate=calibrate_mirt, standard_prior=True)
    ),
    product=False,
    source=_PRODUCTION_STUDY,
)
