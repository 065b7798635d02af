"""Mid-Range, ridge and AIPW against worked examples I, I2 and J, brute force and theory."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.methods.regressions import (
    aipw_score,
    aipw_scores,
    midrange_questions,
    ridge_scores,
)

I_OUTCOMES, I_ASKED, I_REST = (
    np.array([1.0, 0.0, 1.0, 1.0]),
    np.array([0.7, 0.4, 0.6, 0.8]),
    np.array([0.5, 0.2]),
)


def bits(text):
    return np.array([[int(c) for c in row] for row in text.split(",")], dtype=float)


# --- Mid-Range -------------------------------------------------------------------------


def test_midrange_compares_distances_as_integers():
    """.45 and .55 are equally far from one half, though not as floats: 9, 11 and 10 of 20."""
    passes, trials = np.array([11, 9, 10, 0, 0]), np.array([20, 20, 20, 20, 0])
    assert midrange_questions(passes, trials, 5).tolist() == [2, 0, 1, 3, 4]
    assert midrange_questions(passes[::-1], trials[::-1], 3).tolist() == [2, 3, 4]


def test_midrange_fills_the_budget_outside_the_middle():
    assert midrange_questions(np.array([0, 10, 1]), np.full(3, 10), 2).tolist() == [2, 0]
    with pytest.raises(InputError, match="`k` is 4"):
        midrange_questions(np.array([0, 10, 1]), np.full(3, 10), 4)


# --- ridge -----------------------------------------------------------------------------


def test_worked_example_j_of_rsl():
    x = bits("101,111,001,000,110")
    scores = np.array([0.5, 0.8, 0.3, 0.1, 0.6])
    intercept = ridge_scores(x, scores, np.zeros((1, 3)))[0]
    coefficients = ridge_scores(x, scores, np.eye(3)) - intercept
    assert intercept == pytest.approx(0.120852, abs=1e-6)
    assert coefficients == pytest.approx((0.206516, 0.269674, 0.178947), abs=1e-6)
    assert ridge_scores(x, scores, bits("100")) == pytest.approx([0.327368], abs=1e-6)


def test_ridge_penalty_has_the_smallest_leave_one_out_error():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, size=(9, 4)).astype(float)
    scores = x.mean(axis=1) + rng.normal(0, 0.3, size=9)

    def loo_error(alpha):
        errors = [
            scores[i]
            - Ridge(alpha=alpha).fit(np.delete(x, i, 0), np.delete(scores, i)).predict(x[[i]])[0]
            for i in range(9)
        ]
        return np.mean(np.square(errors))

    best = min((0.1, 1.0, 10.0), key=loo_error)
    target = rng.integers(0, 2, size=(3, 4)).astype(float)
    assert ridge_scores(x, scores, target) == pytest.approx(
        Ridge(alpha=best).fit(x, scores).predict(target)
    )


def test_ridge_refuses_a_single_run():
    with pytest.raises(NotEnoughDataError, match="at least 2"):
        ridge_scores(np.ones((1, 2)), np.ones(1), np.ones((1, 2)))


# --- AIPW ------------------------------------------------------------------------------


def aipw_released_score(outcomes, fitted_asked, fitted_rest):
    """Estimate as the authors' code does, kept to show its trap: not exact at full budget."""
    correction = float((outcomes - fitted_asked).mean()) / (1.0 + len(outcomes) / len(fitted_rest))
    return float(fitted_rest.mean()) + correction


def test_worked_example_i_of_aipw():
    released = aipw_released_score(I_OUTCOMES, I_ASKED, I_REST)
    assert released == pytest.approx(0.391667, abs=1e-6)
    assert aipw_score(I_OUTCOMES, I_ASKED, I_REST) == pytest.approx(0.658333, abs=1e-6)


def test_released_aipw_does_not_approach_the_score_and_ours_is_exact():
    """With one question left the released form is that question's prediction, or near it."""
    outcomes, fitted = np.ones(99), np.full(99, 0.5)
    nearly_all = aipw_released_score(outcomes, fitted, np.array([0.5]))
    assert nearly_all == pytest.approx(0.505)
    assert aipw_score(outcomes, fitted, np.array([0.5])) == pytest.approx(1.0)
    assert aipw_score(outcomes, fitted, np.empty(0)) == 1.0


def test_worked_example_i2_of_the_fit():
    features = bits("110101,100100,111100").T
    observed = np.array([[True] * 4 + [False] * 2])
    rates = np.array([[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    ridge = Ridge(alpha=10.0).fit(features[:4], rates[0, :4])
    fitted = ridge.predict(features)
    assert fitted[:4] == pytest.approx((0.555085, 0.466102, 0.423729, 0.555085), abs=1e-6)
    assert fitted[4:] == pytest.approx((0.423729, 0.466102), abs=1e-6)
    released = aipw_released_score(rates[0, :4], fitted[:4], fitted[4:])
    assert released == pytest.approx(0.444915, abs=1e-6)
    assert aipw_score(rates[0, :4], fitted[:4], fitted[4:]) == pytest.approx(0.481638, abs=1e-6)
    left_out = [
        rates[0, i]
        - Ridge(alpha=10.0)
        .fit(np.delete(features[:4], i, 0), np.delete(rates[0, :4], i))
        .predict(features[[i]])[0]
        for i in range(4)
    ]
    score, standard_error = aipw_scores(features, rates, observed, np.ones((1, 6), dtype=bool))
    expected = aipw_score(rates[0, :4], fitted[:4], fitted[4:], residuals=np.array(left_out))
    assert score == pytest.approx([expected], abs=1e-12)
    error = np.std(left_out, ddof=1) * np.sqrt((1 - 4 / 6) / 4)
    assert standard_error == pytest.approx([error], abs=1e-12)


def test_aipw_of_many_runs_is_that_of_each():
    rng = np.random.default_rng(3)
    features, rates = rng.random((20, 5)), rng.integers(0, 2, size=(6, 20)).astype(float)
    population = rng.random((6, 20)) < 0.9
    observed = population & (np.arange(20) < 8)
    observed[5] = False
    joint, _ = aipw_scores(features, rates, observed, population)
    for i in range(5):
        alone, _ = aipw_scores(features, rates[[i]], observed[[i]], population[[i]])
        assert joint[i] == alone[0]
    assert np.isnan(joint[5])


def test_aipw_standard_error_is_that_of_repeated_draws():
    rng = np.random.default_rng(4)
    ability, p = rng.normal(size=30), rng.normal(size=150)
    features = (rng.random((150, 30)) < 1 / (1 + np.exp(-(p[:, None] + ability)))).astype(float)
    rates = np.repeat((rng.random(150) < 1 / (1 + np.exp(-p)))[np.newaxis], 400, axis=0) * 1.0
    observed = np.argsort(np.argsort(rng.random(rates.shape), axis=1), axis=1) < 40
    score, standard_error = aipw_scores(features, rates, observed, np.ones_like(observed))
    error = score - rates[0].mean()
    assert abs(error.mean()) < 3 * error.std() / 20
    assert np.sqrt(np.mean(standard_error**2)) == pytest.approx(error.std(), rel=0.15)
