"""One question per stratum of the Rasch difficulties: the safe default."""

from typing import Final

import numpy as np

from recurring_eval.calibration.models import RaschModel
from recurring_eval.methods import scores
from recurring_eval.methods.method import Method
from recurring_eval.records import Subset
from recurring_eval.subsets import STRATIFIED as STRATIFIED_DESIGN
from recurring_eval.subsets import stratified_subset

_CHOOSES: Final = "k Rasch-difficulty strata, question nearest the stratum median"


def choose(
    model: RaschModel,
    bank_version: str,
    k: int,
    *,
    rng: np.random.Generator | None = None,
    seed: int = 0,
) -> Subset:
    """Stratified subset; `rng` draws the order of equal difficulties."""
    tie_order = None if rng is None else rng.permutation(model.n_questions)
    return stratified_subset(model, bank_version, k, seed=seed, tie_order=tie_order)


STRATIFIED: Final = Method(
    name="stratified",
    chooses=_CHOOSES,
    estimates="weighted",
    design=STRATIFIED_DESIGN,
    choose=choose,
    score=scores.weighted,
    description="A fixed question per difficulty stratum, weighted by the stratum's size.",
)

STRATIFIED_GPIRT: Final = Method(
    name="stratified+gpirt",
    chooses=_CHOOSES,
    estimates="gp-IRT",
    design=STRATIFIED_DESIGN,
    choose=choose,
    score=scores.gpirt_of_strata,
    needs_gpirt=True,
    description="The same questions; weighted mean and p-IRT blended by their expected errors.",
)

STRATIFIED_PIRT: Final = Method(
    name="stratified+pirt",
    chooses=_CHOOSES,
    estimates="p-IRT",
    design=STRATIFIED_DESIGN,
    choose=choose,
    score=scores.pirt,
    description="The same questions; the Rasch model predicts the others.",
)
