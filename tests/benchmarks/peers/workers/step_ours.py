"""Adaptive session of this package: `rasch-cat`, or `mirt-cat` with one ability; prior N(0, 1)."""

import numpy as np
from exchange import StepClock, read_problem, write_result

from recurring_eval.adaptive import start_session
from recurring_eval.calibration import MirtModel, RaschModel

problem = read_problem()
slope, intercept = problem["slope"], problem["intercept"]
n = len(slope)
ids = tuple(f"q{j:04d}" for j in range(n))
common = {
    "question_ids": ids,
    "difficulty": intercept,
    "run_ids": ("r0", "r1"),
    "n_responses": np.full(n, 10),
    "prior_precision": 1.0,
    "log_posterior": -1.0,
    "log_likelihood": -1.0,
    "converged": True,
    "n_iterations": 1,
}
if problem["model"] == "rasch":
    model = RaschModel(ability=np.array([-1.0, 1.0]), prior_mean=0.0, **common)
else:
    model = MirtModel(
        discrimination=slope[:, np.newaxis],
        ability=np.array([[-1.0], [1.0]]),
        prior_mean=np.zeros(1),
        discrimination_sd=1.0,
        **common,
    )
method = "rasch-cat" if problem["model"] == "rasch" else "mirt-cat"
k = int(problem["k"])
session = start_session(model, method=method, k=k, prior_mean=[0.0], prior_precision=1.0)

clock = StepClock()
chosen, abilities = [], []
for _ in range(k):
    (question,) = clock.choose(session.ask)
    position = int(question[1:])
    verdict = int(problem["verdicts"][position])
    session = clock.learn(lambda q=question, v=verdict, s=session: s.tell({q: v}))
    chosen.append(position)
    abilities.append(float(session.estimate().ability.theta[0]))
write_result("recurring-eval", chosen=chosen, abilities=abilities, **clock.per_step(k))
