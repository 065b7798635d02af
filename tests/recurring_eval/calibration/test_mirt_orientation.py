"""The rotation that a fit is reported in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.calibration.mirt import orientation


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 6))
def test_both_signs_hold_wherever_a_rotation_can_give_them(seed, d):
    rng = np.random.default_rng(seed)
    ability, slopes = rng.normal(size=(30, d)), rng.normal(size=(40, d))
    scores = rng.random(30)
    rotation = orientation(ability, slopes, scores)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(d), atol=1e-12)
    covariance = (scores - scores.mean()) @ ability @ rotation
    sums = slopes.sum(axis=0) @ rotation
    assert (covariance >= -1e-12).all()
    if covariance @ sums > 0:
        assert (sums >= -1e-12).all()


def test_a_flipped_axis_is_turned_back():
    ability = np.array([[1.0], [0.0], [-1.0]])
    slopes = np.array([[1.0], [1.0]])
    assert orientation(ability, slopes, np.array([0.9, 0.5, 0.1])) == pytest.approx(1)
    assert orientation(-ability, -slopes, np.array([0.9, 0.5, 0.1])) == pytest.approx(-1)


def test_runs_without_a_score_are_left_out():
    ability = np.array([[1.0], [-1.0], [9.0]])
    assert orientation(ability, np.array([[1.0]]), np.array([0.8, 0.2, np.nan])) == pytest.approx(1)
