"""Adaptive run of catsim: largest information, maximum likelihood by its bounded search.

While all verdicts are alike its estimate follows Dodd's rule; it has no ability prior.
"""

import numpy as np
from catsim.estimation import NumericalSearchEstimator
from catsim.item_bank import ItemBank
from catsim.selection import MaxInfoSelector
from exchange import StepClock, read_problem, write_result

problem = read_problem()
slope, intercept, k = problem["slope"], problem["intercept"], int(problem["k"])
zeros = np.zeros_like(slope)
bank = ItemBank(np.column_stack([slope, intercept / slope, zeros, zeros + 1.0]))
selector, estimator = MaxInfoSelector(), NumericalSearchEstimator()


def choose(asked: list[int], theta: float) -> int:
    """Next question at an ability."""
    return int(selector.select(item_bank=bank, administered_items=asked, est_theta=theta))


def learn(asked: list[int], theta: float) -> float:
    """Ability after the asked questions; theta is where it was before the last of them."""
    answers = [bool(problem["verdicts"][question]) for question in asked]
    return float(
        estimator.estimate(
            item_bank=bank, administered_items=asked, response_vector=answers, est_theta=theta
        )
    )


clock = StepClock()
asked: list[int] = []
theta = 0.0
for _ in range(k):
    asked.append(clock.choose(lambda t=theta: choose(asked, t)))
    theta = clock.learn(lambda t=theta: learn(asked, t))

# The same states as ours had: what would it have asked, and thought of the answers, there?
ours = [int(i) for i in problem["our_chosen"]]
before = [0.0, *problem["our_abilities"][:-1].tolist()]
write_result(
    "catsim",
    chosen=asked,
    chosen_at_our_states=[choose(ours[:step], before[step]) for step in range(k)],
    ability_at_our_states=[learn(ours[: step + 1], before[step]) for step in range(k)],
    **clock.per_step(k),
)
