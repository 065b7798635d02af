"""One question per stratum of the Rasch difficulties: the safe default."""

from typing import Final

import numpy as np

from recurring_eval.calibration.models import RaschModel
from recurring_eval.methods.fixed import GPIRT, FixedMethod, gpirt, pirt, weighted
from recurring_eval.records import Subset
from recurring_eval.subsets import STRATIFIED as STRATIFIED_DESIGN
from recurring_eval.subsets import stratified_subset


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


STRATIFIED: Final = FixedMethod(
    name="stratified+weighted",
    aliases=("stratified",),
    draws_as="stratified",
    description="A fixed question per difficulty stratum, weighted by the stratum's size.",
    design=STRATIFIED_DESIGN,
    choose=choose,
    estimate=weighted,
    checked=True,
)

STRATIFIED_GPIRT: Final = FixedMethod(
    name="stratified+gpirt",
    description="The same questions; weighted mean and p-IRT blended by their expected errors.",
    design=STRATIFIED_DESIGN,
    choose=choose,
    estimate=gpirt,
    models=(GPIRT,),
    checked=True,
)

STRATIFIED_PIRT: Final = FixedMethod(
    name="stratified+pirt",
    description="The same questions; the Rasch model predicts the others.",
    design=STRATIFIED_DESIGN,
    choose=choose,
    estimate=pirt,
)
