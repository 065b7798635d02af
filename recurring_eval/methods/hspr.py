"""Hierarchical score posterior recovery as the product offers it."""

from typing import Final

from recurring_eval.methods.method import Method

HSPR: Final = Method(
    name="hspr",
    chooses="step by step, the question that lowers the score's posterior variance most",
    estimates="posterior median, calibrated",
    design="hspr",
    choose=None,
    score=None,
    adaptive=True,
    needs_hspr=True,
    description="One question at a time; the score's posterior given distinct agents' full runs.",
)
