"""CPU time of the Rasch fit beside a general optimiser that reaches the same optimum."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from recurring_eval.ability import estimate_abilities
from recurring_eval.calibration import fit_rasch
from recurring_eval.response_matrix import ResponseMatrix
from tests.reference_fits import rasch_by_lbfgs
from tests.response_matrices import simulate_rasch

pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def matrix() -> ResponseMatrix:
    rng = np.random.default_rng(20260101)
    ability, difficulty = rng.normal(0.3, 0.8, 287), rng.normal(0, 2.5, 519)
    return simulate_rasch(ability, difficulty, rng=rng, missing=0.05)


def best_cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def test_fit_is_fast_and_as_exact_as_a_tight_optimiser(
    matrix: ResponseMatrix, capsys: pytest.CaptureFixture[str]
):
    start = time.process_time()
    model = fit_rasch(matrix)
    first = time.process_time() - start
    warm = best_cpu_seconds(lambda: fit_rasch(matrix), 5)
    start = time.process_time()
    best, _, _ = rasch_by_lbfgs(matrix)
    general = time.process_time() - start
    difference = abs(model.log_posterior - best) / abs(best)
    with capsys.disabled():
        print(
            f"\nRasch 287x519, CPU s: first {first:.3f}, warm {warm:.3f}; L-BFGS {general:.2f} "
            f"({general / warm:.0f} times); relative difference {difference:.1e}; "
            f"{model.n_iterations} Newton steps"
        )
    assert difference < 1e-6
    assert first < 0.15
    assert warm < general / 5


def test_cost_of_many_abilities_is_a_fraction_of_the_fit(
    matrix: ResponseMatrix, capsys: pytest.CaptureFixture[str]
):
    model = fit_rasch(matrix)
    fit = best_cpu_seconds(lambda: fit_rasch(matrix), 3)
    batch = best_cpu_seconds(lambda: estimate_abilities(model, matrix.passes, matrix.trials), 3)
    with capsys.disabled():
        print(f"\nabilities of 287 runs: {batch / fit:.2f} of a fit ({batch:.3f} CPU s)")
    assert batch < fit
