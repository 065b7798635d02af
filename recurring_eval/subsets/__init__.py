"""Fixed selections of k questions."""

from recurring_eval.subsets.random import RANDOM, random_subset
from recurring_eval.subsets.sticky import (
    MIN_REPLAYED_GAIN_PP,
    PublishDecision,
    should_publish,
    sticky_subset,
)
from recurring_eval.subsets.stratified import STRATIFIED, strata, stratified_subset

__all__ = [
    "MIN_REPLAYED_GAIN_PP",
    "RANDOM",
    "STRATIFIED",
    "PublishDecision",
    "random_subset",
    "should_publish",
    "sticky_subset",
    "strata",
    "stratified_subset",
]
