"""CPU time of the multidimensional fit, its selection and one adaptive step."""

import time

import numpy as np
import pytest

from recurring_eval.adaptive import askable_questions, choose_d_optimal, replay_sessions
from recurring_eval.calibration import fit_mirt, select_mirt
from recurring_eval.calibration.mirt import factor_start
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.simulate import SimulationOptions, simulate_history
from tests.mirt_models import mirt_by_lbfgs, random_mirt_model
from tests.recurring_eval.adaptive.sessions import start_session

pytestmark = pytest.mark.benchmark

D, SD = 5, 0.25
N_RUNS, N_QUESTIONS = 287, 519


@pytest.fixture(scope="module")
def matrix() -> ResponseMatrix:
    history = simulate_history(
        SimulationOptions(runs_per_day=680 / 52), rng=np.random.default_rng(20260101)
    )
    found = history.matrix.select_runs(history.calibration_rows()[:N_RUNS])
    assert found.passes.shape == (N_RUNS, N_QUESTIONS)
    return found


def test_fit_is_no_lower_than_lbfgs_and_twice_as_fast(
    matrix: ResponseMatrix, capsys: pytest.CaptureFixture[str]
):
    begin = time.process_time()
    model = fit_mirt(matrix, dimensions=D, discrimination_sd=SD)
    first = time.process_time() - begin
    seconds = []
    for _ in range(5):
        begin = time.process_time()
        fit_mirt(matrix, dimensions=D, discrimination_sd=SD)
        seconds.append(time.process_time() - begin)
    start = factor_start(matrix.passes.astype(float), matrix.trials.astype(float), D)
    flat = np.concatenate(
        [start.runs.ravel(), start.questions[:, :-1].ravel(), start.questions[:, -1]]
    )
    lbfgs_seconds = []
    for _ in range(2):
        begin = time.process_time()
        general = mirt_by_lbfgs(matrix, flat, D, SD, ftol=1e-9)
        lbfgs_seconds.append(time.process_time() - begin)
    ratio = min(lbfgs_seconds) / min(seconds)
    with capsys.disabled():
        print(
            f"\nM2PL d={D} {N_RUNS}x{N_QUESTIONS}, CPU s: first {first:.2f}, "
            f"warm {min(seconds):.2f}; L-BFGS {min(lbfgs_seconds):.2f} ({ratio:.1f} times); "
            f"log posterior higher by {model.log_posterior - general:.5f}"
        )
    assert model.converged
    assert model.log_posterior >= general
    assert first < 1.0
    assert ratio >= 2


def test_selection_and_final_fit(matrix: ResponseMatrix, capsys: pytest.CaptureFixture[str]):
    begin = time.process_time()
    model = select_mirt(matrix, rng=np.random.default_rng(1))
    seconds = time.process_time() - begin
    with capsys.disabled():
        print(
            f"\nselection of 12 settings and final fit: {seconds:.1f} CPU s; "
            f"d={model.n_dimensions}, s={model.discrimination_sd}"
        )
    assert seconds < 15


def test_one_adaptive_step_on_2000_questions(capsys: pytest.CaptureFixture[str]):
    rng = np.random.default_rng(2)
    session = start_session(random_mirt_model(2000, D, rng), rule="mirt-cat", k=200)
    seconds = []
    while not session.finished:
        begin = time.perf_counter()
        (question,) = session.ask()
        session = session.tell({question: (int(rng.random() < 0.6), 1)})
        seconds.append(time.perf_counter() - begin)
    with capsys.disabled():
        print(f"\nadaptive step, 2,000 questions, d={D}: median {1e3 * np.median(seconds):.2f} ms")
    assert np.median(seconds) < 1e-3


def test_replayed_step_costs_a_fraction_of_a_session_step(
    matrix: ResponseMatrix, capsys: pytest.CaptureFixture[str]
):
    model = fit_mirt(matrix, dimensions=D, discrimination_sd=SD)
    questions = askable_questions(model)
    begin = time.process_time()
    replay_sessions(questions, matrix.passes, matrix.trials, choose=choose_d_optimal, ks=(100,))
    each = (time.process_time() - begin) / (100 * N_RUNS)
    with capsys.disabled():
        print(f"\nreplayed adaptive step, {N_RUNS} runs together: {1e6 * each:.0f} CPU us")
    assert each < 2e-4
