"""Random questions: of the whole bank, or inside strata of the historical pass rate."""

from functools import partial
from typing import Final

import numpy as np

from recurring_eval.estimators import RANDOM_DIVISOR, weighted_score
from recurring_eval.methods.fixed import GPIRT, FixedMethod, gpirt, pirt, weighted
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets import RANDOM as RANDOM_DESIGN
from recurring_eval.subsets import pass_rate_strata, random_subset

RANDOM: Final = FixedMethod(
    name="random",
    aliases=("random+weighted",),
    description="Random questions and their plain pass rate: the baseline.",
    design=RANDOM_DESIGN,
    choose=random_subset,
    estimate=weighted,
)

RANDOM_PIRT: Final = FixedMethod(
    name="random+pirt",
    description="Random questions; the Rasch model predicts the others.",
    design=RANDOM_DESIGN,
    choose=random_subset,
    estimate=pirt,
)

RANDOM_GPIRT: Final = FixedMethod(
    name="random+gpirt",
    description="Random questions; raw mean and p-IRT blended by their expected errors.",
    design=RANDOM_DESIGN,
    choose=random_subset,
    estimate=partial(gpirt, design_divisor=RANDOM_DIVISOR),
    models=(GPIRT,),
)


def score_strata(
    source: ResponseMatrix, targets: ResponseMatrix, k: int, rng: np.random.Generator
) -> Scored:
    """Draw one set of questions for all targets; weighted mean of the valid outcomes."""
    weights = pass_rate_strata(*source.question_totals(), k, rng=rng)
    return Scored(
        score=weighted_score(targets.passes, targets.trials, weights),
        observed=(targets.trials > 0) & (weights > 0),
    )


STRATIFIED_RANDOM: Final = ReplayMethod(
    name="stratified-random",
    description="Random questions inside ten strata of the historical pass rate, weighted.",
    source="HSPR's baseline",
    fit=lambda source, _: partial(score_strata, source),
    aliases=("stratified-random+weighted",),
)
