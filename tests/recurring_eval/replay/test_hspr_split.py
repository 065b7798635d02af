"""Residuals of HSPR on the later half of a history."""

from dataclasses import replace

import numpy as np
import pytest

from recurring_eval.hspr import AVERAGE
from recurring_eval.replay import hspr_split_residuals
from recurring_eval.simulate import SimulationOptions, simulate_history


@pytest.fixture(scope="module")
def matrix():
    options = SimulationOptions(
        n_questions=60, n_days=12, calibration_days=6, runs_per_day=4, mean_pass_rate=0.6
    )
    history = simulate_history(options, rng=np.random.default_rng(5))
    return history.matrix.in_canonical_order()


def residuals(matrix, ks=(10, 25), **options):
    return hspr_split_residuals(matrix, ks, AVERAGE, rng=np.random.default_rng(1), **options)


def test_each_later_run_is_compared_with_its_own_full_score(matrix):
    found = residuals(matrix, max_targets=100)
    later = matrix.run_ids[matrix.n_runs // 2 :]
    assert [(r.k, r.run_id) for r in found] == [(k, run) for k in (10, 25) for run in later]
    scores = dict(zip(matrix.run_ids, matrix.pass_rates(), strict=True))
    for one in found:
        assert one.full_pass_rate == pytest.approx(scores[one.run_id])
        assert one.error == pytest.approx(one.estimate - scores[one.run_id])
        assert one.model_sd > 0
    mae = {k: np.mean([abs(r.error) for r in found if r.k == k]) for k in (10, 25)}
    assert mae[25] < mae[10] < 0.12


def test_few_runs_are_spread_in_time_with_the_last_among_them(matrix):
    found = residuals(matrix, (10,), max_targets=4)
    places = [matrix.run_ids.index(r.run_id) for r in found]
    assert len(places) == 4
    assert places[-1] == matrix.n_runs - 1
    gaps = np.diff([matrix.n_runs // 2 - 1, *places])
    assert gaps.max() - gaps.min() <= 1


def test_no_later_run_has_a_part_in_the_residual_of_another(matrix):
    before = residuals(matrix, (10,), max_targets=4)
    last = [matrix.run_ids.index(r.run_id) for r in before][-1]
    passes = matrix.passes.copy()
    half = matrix.n_runs // 2
    passes[half:last] = matrix.trials[half:last] - passes[half:last]
    after = residuals(replace(matrix, passes=passes), (10,), max_targets=4)
    assert after[-1] == before[-1]
    assert all(a != b for a, b in zip(after[:-1], before[:-1], strict=True))


def test_the_order_of_the_runs_is_irrelevant(matrix):
    shuffled = matrix.select_runs(np.random.default_rng(2).permutation(matrix.n_runs))
    given, again = (
        residuals(matrix, (10,), max_targets=3),
        residuals(shuffled, (10,), max_targets=3),
    )
    assert [(r.run_id, r.k) for r in given] == [(r.run_id, r.k) for r in again]
    for one, other in zip(given, again, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-9)


def test_sizes_that_leave_nothing_to_estimate_are_left_out(matrix):
    assert residuals(matrix, (60, 100)) == []
    assert residuals(matrix, ()) == []


def test_too_few_runs_give_none(matrix):
    assert residuals(matrix.select_runs(slice(0, 3))) == []
