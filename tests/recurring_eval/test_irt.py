"""Rasch curves against worked values and calculus."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurring_eval.irt import item_information, logit, pass_probability, sigmoid

logits = st.floats(-700, 700)


def test_worked_probabilities_and_information():
    theta, beta = 0.113961, [-1, 0, 0.5, 1.5]
    p = pass_probability(theta, beta)
    np.testing.assert_allclose(p, [0.752867, 0.528460, 0.404671, 0.200041], atol=1e-6)
    assert item_information(theta, beta).sum() == pytest.approx(0.836185, abs=1e-5)


def test_worked_unseen_questions():
    np.testing.assert_allclose(
        pass_probability(0.113961, [0.8, -0.3]), [0.334915, 0.602037], atol=1e-6
    )


def test_a_column_of_abilities_gives_the_table():
    table = pass_probability(np.array([[0.0], [1.0]]), np.array([0.0, 1.0, 2.0]))
    assert table.shape == (2, 3)
    assert table[0, 0] == table[1, 1] == 0.5


def test_extremes_neither_overflow_nor_leave_the_unit_interval():
    with np.errstate(all="raise", under="ignore"):
        p = pass_probability([-1e4, -800.0, 800.0, 1e4], 0.0)
        information = item_information([-1e4, -40.0, 40.0, 1e4], 0.0)
    assert p.tolist() == [0.0, 0.0, 1.0, 1.0]
    np.testing.assert_allclose(information, [0.0, np.exp(-40), np.exp(-40), 0.0], rtol=1e-12)


@given(logits, logits)
def test_pass_and_fail_probabilities_mirror(ability: float, difficulty: float):
    p = pass_probability(ability, difficulty)
    assert p + pass_probability(difficulty, ability) == pytest.approx(1.0, abs=1e-15)


@given(st.floats(-15, 15))
def test_logit_inverts_sigmoid(x: float):
    assert float(logit(sigmoid(x))) == pytest.approx(x, abs=1e-9)


def test_logit_at_and_beyond_the_ends():
    values = logit([0.0, 0.5, 1.0, 1.5])
    assert values[:3].tolist() == [-np.inf, 0.0, np.inf]
    assert np.isnan(values[3])


@given(st.floats(-8, 8), st.floats(-8, 8))
def test_information_is_the_slope_of_the_curve(ability: float, difficulty: float):
    h = 1e-5
    slope = (
        pass_probability(ability + h, difficulty) - pass_probability(ability - h, difficulty)
    ) / (2 * h)
    assert float(item_information(ability, difficulty)) == pytest.approx(float(slope), abs=1e-9)
