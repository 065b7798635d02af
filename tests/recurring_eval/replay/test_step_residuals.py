"""Residuals of step-by-step methods on the later half of a history."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.errors import FitError
from recurring_eval.hspr import calibrate_average
from recurring_eval.methods.calibration import Calibration, CalibrationRuns
from recurring_eval.methods.cat import COARSE_ROUND
from recurring_eval.methods.hspr import HSPR, HSPR_SOURCES
from recurring_eval.methods.mirt_cat import MIRT, MIRT_CAT
from recurring_eval.methods.registry import checked_methods
from recurring_eval.methods.session import Session
from recurring_eval.methods.steps import StepMethod
from recurring_eval.replay.residuals import MAX_TARGETS, step_residuals
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.simulate import SimulationOptions, simulate_history
from tests.mirt_models import random_mirt_model

every_method = pytest.mark.parametrize(
    "method",
    [method for method in checked_methods() if isinstance(method, StepMethod)],
    ids=lambda method: method.name,
)


@cache
def simulated(n_days: int = 12) -> ResponseMatrix:
    options = SimulationOptions(
        n_questions=60,
        n_days=n_days,
        calibration_days=n_days // 2,
        runs_per_day=4,
        mean_pass_rate=0.6,
    )
    history = simulate_history(options, rng=np.random.default_rng(5))
    return history.matrix.in_canonical_order()


@pytest.fixture
def matrix() -> ResponseMatrix:
    return simulated()


@cache
def like() -> Calibration:
    """Fitted on all runs; gives the settings of what is fitted on the earlier half."""
    runs = simulated()
    return Calibration(
        rasch=fit_rasch(runs),
        fitted={
            HSPR_SOURCES.name: calibrate_average(runs),
            MIRT.name: replace(
                random_mirt_model(60, 2, np.random.default_rng(0)), question_ids=runs.question_ids
            ),
        },
    )


def residuals(matrix, method=HSPR, ks=(10, 25), **changed):
    return step_residuals(
        CalibrationRuns(matrix=matrix),
        ks,
        method,
        **{"like": like(), "rng": np.random.default_rng(1)} | changed,
    )


@every_method
def test_each_later_run_is_compared_with_its_own_full_score(matrix, method):
    few = matrix.select_runs(slice(matrix.n_runs - 2 * MAX_TARGETS, None))
    found = residuals(few, method)
    later = few.run_ids[MAX_TARGETS:]
    assert [(r.k, r.run_id) for r in found] == [(k, run) for k in (10, 25) for run in later]
    scores = dict(zip(matrix.run_ids, matrix.pass_rates(), strict=True))
    for one in found:
        assert one.method == method.name
        assert one.full_pass_rate == pytest.approx(scores[one.run_id])
        assert one.error == pytest.approx(one.estimate - scores[one.run_id])
        assert one.model_sd > 0
    mae = {k: np.mean([abs(r.error) for r in found if r.k == k]) for k in (10, 25)}
    assert mae[25] < mae[10] < 0.12


@every_method
def test_many_runs_are_thinned_evenly_in_time_with_the_last_among_them(method):
    long = simulated(n_days=24)
    calibration = Calibration(rasch=fit_rasch(long), fitted={})
    if method is HSPR:
        calibration = replace(calibration, fitted={HSPR_SOURCES.name: calibrate_average(long)})
    found = residuals(long, method, (10,), like=calibration)
    places = [long.run_ids.index(r.run_id) for r in found]
    assert len(places) == MAX_TARGETS < long.n_runs - long.n_runs // 2
    assert places[-1] == long.n_runs - 1
    gaps = np.diff([long.n_runs // 2 - 1, *places])
    assert gaps.max() - gaps.min() <= 1


@every_method
def test_no_later_run_has_a_part_in_the_residual_of_another(matrix, method):
    few = matrix.select_runs(slice(matrix.n_runs - 12, None))
    before = residuals(few, method, (10,))
    passes = few.passes.copy()
    passes[6:-1] = few.trials[6:-1] - passes[6:-1]
    after = residuals(replace(few, passes=passes), method, (10,))
    assert after[-1] == before[-1]
    assert all(a != b for a, b in zip(after[:-1], before[:-1], strict=True))


@every_method
def test_the_order_of_the_runs_is_irrelevant(matrix, method):
    shuffled = matrix.select_runs(np.random.default_rng(2).permutation(matrix.n_runs))
    given, again = residuals(matrix, method, (10,)), residuals(shuffled, method, (10,))
    assert [(r.run_id, r.k) for r in given] == [(r.run_id, r.k) for r in again]
    for one, other in zip(given, again, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-9)


@every_method
def test_a_residual_is_that_of_a_session_under_the_earlier_half(matrix, method):
    few = matrix.select_runs(slice(matrix.n_runs - 20, None))
    if method.replay_coarsely:
        # A session learns of a missing verdict when its round has been asked, a replay before.
        few = replace(few, trials=np.maximum(few.trials, 1))
    found = residuals(few, method, (7,))
    rng = np.random.default_rng(1)
    earlier = CalibrationRuns(matrix=few).earlier_half()
    calibration = Calibration(
        rasch=fit_rasch(earlier.matrix),
        fitted={kind.name: kind.refit(earlier, like()[kind], rng) for kind in method.models},
    )
    orders = np.broadcast_to(method.draw_orders(few.question_ids, 10, rng), (10, 60))
    for row in range(10):
        run = 10 + row
        session = Session(
            method=method, calibration=calibration, k=7, order=tuple(orders[row].tolist())
        )
        # Residuals of these methods are measured in rounds.
        n = COARSE_ROUND if method.replay_coarsely else 1
        while questions := session.ask(n):
            columns = [few.question_ids.index(question) for question in questions]
            session = session.tell(
                {
                    few.question_ids[j]: (int(few.passes[run, j]), int(few.trials[run, j]))
                    for j in columns
                }
            )
        score = session.score(few.trials[run] > 0)
        assert found[row].estimate == pytest.approx(score.pass_rate[0], abs=1e-12)
        assert found[row].model_sd == pytest.approx(score.model_sd[0], rel=1e-9)


@every_method
def test_sizes_that_leave_nothing_to_estimate_are_left_out(matrix, method):
    assert residuals(matrix, method, (60, 100)) == []
    assert residuals(matrix, method, ()) == []
    trials = matrix.trials.copy()
    trials[-1, 40:] = 0
    shorter = replace(matrix, trials=trials, passes=np.minimum(matrix.passes, trials))
    found = residuals(shorter.select_runs(slice(-12, None)), method, (10, 45))
    n_valid = dict(zip(shorter.run_ids, (trials > 0).sum(axis=1), strict=True))
    assert all(n_valid[r.run_id] > r.k for r in found)
    assert shorter.run_ids[-1] not in {r.run_id for r in found if r.k == 45}


@every_method
def test_too_few_runs_give_none(matrix, method):
    assert residuals(matrix.select_runs(slice(0, 3)), method) == []


def test_a_model_that_cannot_be_refitted_gives_none(matrix):
    def refuse(runs, like, rng):
        raise FitError("no convergence")

    broken = replace(MIRT_CAT, models=(replace(MIRT, refit=refuse),))
    assert residuals(matrix, broken) == []


def test_residuals_of_a_method_that_does_without_its_model_are_those_without_it(matrix):
    few = matrix.select_runs(slice(-12, None))
    bare = Calibration(rasch=fit_rasch(few))
    without = residuals(few, MIRT_CAT, (10,), like=bare)
    assert len(without) == 6
    assert without != residuals(few, MIRT_CAT, (10,))
