"""Dimensions and scale chosen on held-out cells."""

import numpy as np
import pytest

from recurring_eval.calibration import fit_mirt, select_mirt
from recurring_eval.calibration.mirt_selection import MirtCandidate, compare_settings, preferred
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
    best = preferred(candidates)
    assert len(candidates) == 6
    assert (chosen.n_dimensions, chosen.discrimination_sd) == (
        best.dimensions,
        best.discrimination_sd,
    )
    assert chosen.held_out_log_likelihood == best.held_out_log_likelihood
    plain = fit_mirt(matrix, dimensions=best.dimensions, discrimination_sd=best.discrimination_sd)
    np.testing.assert_array_equal(chosen.difficulty, plain.difficulty)


def test_candidates_fitted_side_by_side_are_the_same_to_the_bit(matrix):
    grid = {"dimensions": (1, 2, 4), "discrimination_sds": (0.2, 0.6)}
    one, three = (compare_settings(matrix, **grid, n_threads=n, rng=seeded()) for n in (1, 3))
    assert one == three


def test_dimensions_of_the_best_then_the_widest_prior_near_it():
    def candidate(d, sd, shortfall):
        return MirtCandidate(
            dimensions=d,
            discrimination_sd=sd,
            held_out_log_likelihood=-0.3 - shortfall,
            shortfall=shortfall,
            shortfall_error=0.002 if shortfall else 0.0,
        )

    clear = [candidate(2, 0.25, 0.003), candidate(5, 0.15, 0.0), candidate(10, 0.15, 0.001)]
    assert preferred(clear) is clear[1]
    near = [candidate(2, 0.5, 0.0005), candidate(5, 0.15, 0.0), candidate(5, 0.25, 0.0015)]
    assert preferred(near) is near[2]


def test_shortfalls_are_measured_from_the_best(matrix):
    candidates = compare_settings(matrix, dimensions=(1, 2, 15), rng=seeded())
    best = max(candidates, key=lambda candidate: candidate.held_out_log_likelihood)
    assert best.shortfall == best.shortfall_error == 0
    for candidate in candidates:
        difference = best.held_out_log_likelihood - candidate.held_out_log_likelihood
        assert candidate.shortfall == pytest.approx(difference, abs=1e-12)


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
