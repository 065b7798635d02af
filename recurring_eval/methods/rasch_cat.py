"""`rasch-cat`: the question whose verdict the Rasch model is least certain of."""

from typing import Final

from recurring_eval.adaptive import choose_by_information
from recurring_eval.calibration.rasch import ABILITY_SD
from recurring_eval.methods.cat import AdaptiveTest
from recurring_eval.methods.steps import StepMethod

PRIOR_PRECISION: Final = ABILITY_SD**-2
"""Prior precision of a run's ability around zero.

As published: a run starts at zero, with the ability prior of the calibration itself, N(0, 1). A
weak prior around recent runs, which the multidimensional rule needs, is worse here: questions
far from the ability do not follow equal slopes, and the prior makes up for part of it.
"""

_TEST: Final = AdaptiveTest(
    model_of=lambda calibration: calibration.rasch,
    choose=choose_by_information,
    prior_mean=0.0,
    prior_precision=PRIOR_PRECISION,
)

RASCH_CAT: Final = StepMethod(
    name="rasch-cat",
    description="One question at a time, where the Rasch model is least certain; p-IRT.",
    source="She and Lin 2026",
    begin=_TEST.begin,
    score=_TEST.score,
    replay=_TEST.replay,
)
