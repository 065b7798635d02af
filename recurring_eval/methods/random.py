"""Uniform random questions."""

from functools import partial
from typing import Final

import numpy as np

from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.estimators import RANDOM_DIVISOR
from recurring_eval.methods.fixed import GPIRT, FixedMethod, gpirt, pirt, weighted
from recurring_eval.records import Subset
from recurring_eval.subsets import RANDOM as RANDOM_DESIGN
from recurring_eval.subsets import random_subset


def choose(
    model: RaschModel,
    bank_version: str,
    k: int,
    *,
    rng: np.random.Generator | None = None,
    seed: int = 0,
) -> Subset:
    """Random subset; InputError without `rng`."""
    if rng is None:
        raise InputError("a random subset needs a random generator; give `rng`")
    return random_subset(model, bank_version, k, rng=rng, seed=seed)


RANDOM: Final = FixedMethod(
    name="random",
    aliases=("random+weighted",),
    description="Random questions and their plain pass rate: the baseline.",
    design=RANDOM_DESIGN,
    choose=choose,
    estimate=weighted,
)

RANDOM_PIRT: Final = FixedMethod(
    name="random+pirt",
    description="Random questions; the Rasch model predicts the others.",
    design=RANDOM_DESIGN,
    choose=choose,
    estimate=pirt,
)

RANDOM_GPIRT: Final = FixedMethod(
    name="random+gpirt",
    description="Random questions; raw mean and p-IRT blended by their expected errors.",
    design=RANDOM_DESIGN,
    choose=choose,
    estimate=partial(gpirt, design_divisor=RANDOM_DIVISOR),
    models=(GPIRT,),
)
