"""Dimensions and scale chosen on held-out cells."""

import numpy as np
import pytest

from recurring_eval.calibration import compare_settings, fit_mirt, select_mirt
from recurring_eval.errors import InputError, NotEnoughDataError
from tests.mirt_models import simulate_mirt
from tests.response_matrices import make_matrix, permuted


@pytest.fixture(scope="module")
def matrix():
    return simulate_mirt(80, 90, 2, rng=np.random.default_rng(1), missing=0.1)


def seeded():
    return np.random.default_rng(7)


def test_choice_is_the_best_candidate_refitted_on_everything(matrix):
    grid = {"dimensions": (1, 2, 4), "discrimination_sds": (0.2, 0.6)}
    candidates = compare_settings(matrix, **grid, rng=seeded())
    chosen = select_mirt(matrix, **grid, rng=seeded())
    best = max(candidates, key=lambda candidate: candidate.held_out_log_likelihood)
    assert len(candidates) == 6
    assert (chosen.n_dimensions, chosen.discrimination_sd) == (
        best.dimensions,
        best.discrimination_sd,
    )
    assert chosen.held_out_log_likelihood == best.held_out_log_likelihood
    plain = fit_mirt(matrix, dimensions=best.dimensions, discrimination_sd=best.discrimination_sd)
    np.testing.assert_array_equal(chosen.difficulty, plain.difficulty)


def test_held_out_likelihood_is_between_a_coin_and_certainty(matrix):
    for candidate in compare_settings(matrix, dimensions=(1, 2), rng=seeded()):
        assert np.log(0.5) < candidate.held_out_log_likelihood < 0


def test_two_abilities_beat_many_on_two_dimensional_data(matrix):
    (two, many) = compare_settings(
        matrix, dimensions=(2, 15), discrimination_sds=(0.5,), rng=seeded()
    )
    assert two.held_out_log_likelihood > many.held_out_log_likelihood


def test_order_of_rows_and_columns_is_irrelevant(matrix):
    rng = np.random.default_rng(2)
    other = permuted(matrix, rng.permutation(80), rng.permutation(90))
    grid = {"dimensions": (1, 2), "discrimination_sds": (0.5,)}
    assert compare_settings(matrix, **grid, rng=seeded()) == compare_settings(
        other, **grid, rng=seeded()
    )


def test_impossible_dimensions_are_left_out():
    small = simulate_mirt(6, 30, 2, rng=np.random.default_rng(3))
    candidates = compare_settings(small, rng=seeded())
    assert {candidate.dimensions for candidate in candidates} == {2, 5}


def test_nothing_to_choose_from_is_refused(matrix):
    with pytest.raises(InputError, match="at least one candidate"):
        select_mirt(matrix, dimensions=(), rng=seeded())
    with pytest.raises(NotEnoughDataError, match="import more"):
        select_mirt(make_matrix([[1, 0, 1]]), rng=seeded())
