"""Fixed selections of k questions."""

from recurring_eval.subsets.random import RANDOM, random_subset
from recurring_eval.subsets.stratified import (
    STRATIFIED,
    PublishDecision,
    should_publish,
    sticky_subset,
    stratified_subset,
)

__all__ = [
    "RANDOM",
    "STRATIFIED",
    "PublishDecision",
    "random_subset",
    "should_publish",
    "sticky_subset",
    "stratified_subset",
]
