"""Marginal maximum likelihood of girth, abilities N(0, 1), with its default options.

Its difficulty b is a location, P = sigmoid(a (theta - b)), so the intercept is a * b.
`rasch_mml` fixes a = 1 and gives no abilities.
"""

import numpy as np
from exchange import cpu_timed_fit, read_problem, write_result
from girth import rasch_mml, tag_missing_data, twopl_mml

problem = read_problem()
verdicts = problem["verdicts"].astype(int).T
if (verdicts < 0).any():
    verdicts = tag_missing_data(verdicts, [0, 1])

if problem["model"] == "rasch":
    seconds, fit = cpu_timed_fit(lambda: rasch_mml(verdicts))
    slope, ability = np.ones(len(verdicts)), np.array([])
else:
    seconds, fit = cpu_timed_fit(lambda: twopl_mml(verdicts))
    slope, ability = np.asarray(fit["Discrimination"]), np.asarray(fit["Ability"])
write_result(
    "girth",
    cpu_seconds=seconds,
    slope=slope,
    intercept=slope * np.asarray(fit["Difficulty"]),
    ability=ability,
)
