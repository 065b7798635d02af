"""Joint posterior mode of this package: `fit_rasch`, and `fit_mirt` with one dimension.

For the 2PL the discriminations' prior is N(0, 1), as wide as the abilities'. Its
difficulty is the intercept already; the sign is fixed by the runs' scores.
"""

from datetime import UTC, datetime, timedelta

import numpy as np
from exchange import cpu_timed_fit, read_problem, write_result

from recurring_eval.calibration import fit_mirt, fit_rasch
from recurring_eval.response_matrix import ResponseMatrix

problem = read_problem()
verdicts = problem["verdicts"]
m, n = verdicts.shape
start = datetime(2026, 1, 1, tzinfo=UTC)
matrix = ResponseMatrix(
    passes=np.where(verdicts == 1, 1, 0),
    trials=np.where(verdicts >= 0, 1, 0),
    run_ids=tuple(f"r{i:04d}" for i in range(m)),
    question_ids=tuple(f"q{j:04d}" for j in range(n)),
    started_at=tuple(start + timedelta(hours=i) for i in range(m)),
    agents=("agent",) * m,
)

if problem["model"] == "rasch":
    seconds, fit = cpu_timed_fit(lambda: fit_rasch(matrix))
    slope, ability = fit.discrimination, fit.ability
else:
    seconds, fit = cpu_timed_fit(lambda: fit_mirt(matrix, dimensions=1, discrimination_sd=1.0))
    slope, ability = fit.discrimination[:, 0], fit.ability[:, 0]
write_result(
    "recurring-eval",
    cpu_seconds=seconds,
    slope=slope,
    intercept=fit.difficulty,
    ability=ability,
)
