"""Adaptive session of this package: `rasch-cat`, or `mirt-cat` with one ability; prior N(0, 1)."""

import numpy as np
from exchange import StepClock, read_problem, write_result

from recurring_eval.calibration import MirtModel, RaschModel
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.mirt_cat import MIRT, MIRT_CAT
from recurring_eval.methods.rasch_cat import RASCH_CAT
from recurring_eval.methods.session import Session

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
rasch = RaschModel(ability=np.array([-1.0, 1.0]), prior_mean=0.0, **common)
if problem["model"] == "rasch":
    method, fitted = RASCH_CAT, {}
else:
    method = MIRT_CAT
    fitted = {
        MIRT.name: MirtModel(
            discrimination=slope[:, np.newaxis],
            ability=np.array([[-1.0], [1.0]]),
            prior_mean=np.zeros(1),
            discrimination_sd=1.0,
            **common,
        )
    }
k = int(problem["k"])
session = Session(
    method=method,
    calibration=Calibration(rasch=rasch, fitted=fitted),
    k=k,
    order=tuple(range(n)),
)

clock = StepClock()
chosen, abilities = [], []
for _ in range(k):
    (question,) = clock.choose(session.ask)
    position = int(question[1:])
    verdict = int(problem["verdicts"][position])
    session = clock.learn(lambda q=question, v=verdict, s=session: s.tell({q: (v, 1)}))
    chosen.append(position)
    abilities.append(float(session.score().ability[0].theta[0]))
write_result("recurring-eval", chosen=chosen, abilities=abilities, **clock.per_step(k))
