"""`rasch-cat`: the question whose verdict the Rasch model is least certain of."""

from dataclasses import replace
from typing import Final

from recurring_eval.adaptive import choose_by_information
from recurring_eval.methods.cat import COARSE_ROUND, AdaptiveTest
from recurring_eval.methods.steps import StepMethod

_TEST: Final = AdaptiveTest(
    model_of=lambda calibration: calibration.rasch,
    choose=choose_by_information,
)

RASCH_CAT: Final = StepMethod(
    name="rasch-cat",
    description="One question at a time, where the Rasch model is least certain; p-IRT.",
    source="She and Lin 2026",
    begin=_TEST.begin,
    score=_TEST.score,
    replay=_TEST.replay,
    replay_coarsely=replace(_TEST, per_round=COARSE_ROUND).replay,
)
