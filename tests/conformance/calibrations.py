"""Calibrations with every kind of model that a live method can need, and the methods to try."""

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.estimators import GpirtConstants
from recurring_eval.hspr import AVERAGE, HsprCalibration, fit_sources
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.fixed import GPIRT, FixedMethod
from recurring_eval.methods.hspr import HSPR_SOURCES
from recurring_eval.methods.mirt_cat import MIRT
from recurring_eval.methods.registry import live_methods
from recurring_eval.methods.steps import StepMethod
from tests.mirt_models import random_mirt_model
from tests.rasch_models import make_model
from tests.response_matrices import make_matrix

LiveMethod = FixedMethod | StepMethod


@dataclasses.dataclass(frozen=True)
class Tried:
    """A live method, with what it needs in the calibration or, if it can, without."""

    method: LiveMethod
    has_models: bool = True

    def __str__(self) -> str:
        return self.method.name if self.has_models else f"{self.method.name} on the Rasch model"

    @property
    def fixed(self) -> bool:
        return isinstance(self.method, FixedMethod)

    @property
    def monotone(self) -> bool:
        """Whether a pass can only speak for the run: with means and with one ability."""
        kinds = {kind.name for kind in self.method.models} if self.has_models else set()
        return not kinds & {MIRT.name, HSPR_SOURCES.name}

    def calibration(self, n: int, rng: np.random.Generator) -> Calibration:
        """Draw a calibration of n questions, whose difficulties have ties."""
        rasch = make_model(np.round(rng.normal(0, 1.5, n), 1), ability=rng.normal(size=5))
        kinds = self.method.models if self.has_models else ()
        return Calibration(
            rasch=rasch, fitted={kind.name: MAKERS[kind.name](n, rng) for kind in kinds}
        )


def sources_of(n: int, rng: np.random.Generator) -> HsprCalibration:
    """Five sources of which none passed everything or nothing."""
    verdicts = (rng.random((5, n)) < rng.uniform(0.3, 0.7, size=n)).astype(int)
    verdicts[:, :2] = (0, 1)
    config = dataclasses.replace(AVERAGE, n_nodes=256, path_nodes=64)
    return HsprCalibration(model=fit_sources(make_matrix(verdicts)), config=config)


MAKERS = {
    GPIRT.name: lambda _n, _rng: GpirtConstants(outcome_variance=0.2, irt_bias=0.03),
    HSPR_SOURCES.name: sources_of,
    MIRT.name: lambda n, rng: random_mirt_model(n, 3, rng),
}
"""A model of each kind for n questions."""

TRIED = tuple(Tried(method) for method in live_methods()) + tuple(
    Tried(method, has_models=False)
    for method in live_methods()
    if isinstance(method, StepMethod) and method.models and method.can_do_without
)
every_method = pytest.mark.parametrize("tried", TRIED, ids=str)
every_fixed_method = pytest.mark.parametrize("tried", [t for t in TRIED if t.fixed], ids=str)
every_step_method = pytest.mark.parametrize("tried", [t for t in TRIED if not t.fixed], ids=str)


def shuffled(calibration: Calibration, order: NDArray[np.int64]) -> Calibration:
    """The same calibration with its questions in another order."""
    ids = tuple(calibration.question_ids[j] for j in order)
    fitted = dict(calibration.fitted)
    if (mirt := calibration.get(MIRT)) is not None:
        fitted[MIRT.name] = dataclasses.replace(
            mirt,
            question_ids=ids,
            discrimination=mirt.discrimination[order],
            difficulty=mirt.difficulty[order],
            n_responses=mirt.n_responses[order],
        )
    if (hspr := calibration.get(HSPR_SOURCES)) is not None:
        model = dataclasses.replace(
            hspr.model,
            question_ids=ids,
            group_of_question=hspr.model.group_of_question[order],
        )
        fitted[HSPR_SOURCES.name] = dataclasses.replace(hspr, model=model)
    return Calibration(rasch=_shuffled_rasch(calibration.rasch, order), fitted=fitted)


def _shuffled_rasch(model: RaschModel, order: NDArray[np.int64]) -> RaschModel:
    return dataclasses.replace(
        model,
        question_ids=tuple(model.question_ids[j] for j in order),
        difficulty=model.difficulty[order],
        n_responses=model.n_responses[order],
    )
