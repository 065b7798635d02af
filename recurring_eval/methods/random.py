"""Uniform random questions."""

from typing import Final

import numpy as np

from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.methods import scores
from recurring_eval.methods.method import Method
from recurring_eval.records import Subset
from recurring_eval.subsets import RANDOM as RANDOM_DESIGN
from recurring_eval.subsets import random_subset

_CHOOSES: Final = "uniform without replacement"


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


RANDOM: Final = Method(
    name="random",
    chooses=_CHOOSES,
    estimates="raw mean",
    design=RANDOM_DESIGN,
    choose=choose,
    score=scores.weighted,
    description="Random questions and their plain pass rate: the baseline.",
)

RANDOM_PIRT: Final = Method(
    name="random+pirt",
    chooses=_CHOOSES,
    estimates="p-IRT",
    design=RANDOM_DESIGN,
    choose=choose,
    score=scores.pirt,
    description="Random questions; the Rasch model predicts the others.",
)

RANDOM_GPIRT: Final = Method(
    name="random+gpirt",
    chooses=_CHOOSES,
    estimates="gp-IRT",
    design=RANDOM_DESIGN,
    choose=choose,
    score=scores.gpirt_of_random,
    needs_gpirt=True,
    description="Random questions; raw mean and p-IRT blended by their expected errors.",
)
