"""Abilities in the multidimensional 2PL against brute force and worked examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from recurring_eval.ability import covariance_after, estimate_abilities, posterior_information
from recurring_eval.errors import InputError
from recurring_eval.irt import mirt_pass_probability
from tests.abilities_of_one_run import estimate_ability
from tests.mirt_models import make_mirt_model, random_mirt_model
from tests.rasch_models import make_model


def negative_log_posterior(theta, model, passes, trials, mean, precision):
    x = model.discrimination @ theta - model.difficulty
    likelihood = passes @ x - trials @ np.logaddexp(0, x)
    return -likelihood + precision * np.sum((theta - mean) ** 2) / 2


def brute_force(model, passes, trials, mean, precision):
    result = optimize.minimize(
        negative_log_posterior,
        mean,
        args=(model, passes, trials, mean, precision),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000},
    )
    return result.x


def test_worked_example_b1():
    """methods.md B1: probabilities and information of a one-dimensional 2PL."""
    a, b = np.array([0.8, 1.5, 1.2]), np.array([-0.5, 0.3, 1.0])
    p = mirt_pass_probability([0.4], a[:, np.newaxis], a * b)
    np.testing.assert_allclose(p, [0.672607, 0.537430, 0.327393], atol=1e-6)
    expected = [0.140932, 0.559348, 0.317098]
    for slope, location, information in zip(a, b, expected, strict=True):
        found = posterior_information(
            np.array([[0.4]]), np.array([[slope]]), np.array([slope * location]), np.ones((1, 1)), 0
        )
        assert found[0, 0, 0] == pytest.approx(information, abs=1e-6)


def test_worked_example_d_ability():
    """methods.md D: one fail on question 1 with prior N(0, I)."""
    model = make_mirt_model([[1, 0.2], [0.3, 1.1], [0.8, 0.8], [0.1, 0.3]], [0, 0.5, -0.5, 0])
    estimate = estimate_ability(
        model, [0, 0, 0, 0], [0, 1, 0, 0], prior_mean=[0, 0], prior_precision=1.0
    )
    np.testing.assert_allclose(estimate.theta, [-0.087898, -0.322292], atol=1e-6)
    information = np.linalg.inv(estimate.covariance)
    np.testing.assert_allclose(information, [[1.018643, 0.068359], [0.068359, 1.250649]], atol=1e-6)
    assert estimate.n_observed == 1


def test_equal_slopes_in_one_dimension_are_the_rasch_model():
    difficulty = [-1, 0, 0.5, 1.5]
    model = make_mirt_model(np.ones((4, 1)), difficulty)
    rasch = make_model(difficulty)
    for passes in ([1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]):
        several = estimate_ability(model, passes, np.ones(4), prior_precision=1.0)
        one = estimate_ability(rasch, passes, np.ones(4), prior_precision=1.0)
        np.testing.assert_allclose(several.theta, one.theta, atol=1e-10)
        np.testing.assert_allclose(several.covariance, one.covariance, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 3), precision=st.sampled_from([0.05, 1.0]))
def test_mode_matches_brute_force(seed, d, precision):
    rng = np.random.default_rng(seed)
    model = random_mirt_model(25, d, rng)
    trials = rng.integers(0, 3, 25)
    passes = rng.binomial(trials, 0.6)
    mean = rng.normal(0, 1, d)
    estimate = estimate_ability(model, passes, trials, prior_mean=mean, prior_precision=precision)
    best = brute_force(model, passes, trials, mean, precision)
    arguments = (model, passes, trials, mean, precision)
    assert negative_log_posterior(estimate.theta, *arguments) <= (
        negative_log_posterior(best, *arguments) + 1e-9
    )
    np.testing.assert_allclose(estimate.theta, best, atol=1e-3)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 5),
    spread=st.sampled_from([0.1, 1.0, 5.0, 20.0]),
    rate=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_every_prefix_has_a_finite_mode_where_the_gradient_vanishes(seed, d, spread, rate):
    """F10: separable verdicts in several dimensions must not run away."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    model = make_mirt_model(spread * rng.normal(0.3, 1, (n, d)), spread * rng.normal(0, 2, n))
    passes = rng.binomial(1, rate, n)
    estimate = estimate_ability(model, passes, np.ones(n))
    p = mirt_pass_probability(estimate.theta, model.discrimination, model.difficulty)
    gradient = (passes - p) @ model.discrimination - 0.05 * estimate.theta
    assert np.abs(gradient).max() < 1e-6 * (1 + spread**2 * n)
    assert (np.linalg.eigvalsh(estimate.covariance) > 0).all()


def test_without_verdicts_the_estimate_is_the_prior():
    model = make_mirt_model(np.ones((3, 2)), np.zeros(3), prior_mean=[0.3, -0.2])
    estimate = estimate_ability(model, np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(estimate.theta, [0.3, -0.2])
    np.testing.assert_allclose(estimate.covariance, np.eye(2) / 0.05)
    assert estimate.n_observed == 0


def test_batch_equals_loop_bit_by_bit():
    """F11: a row must not depend on the rows it is solved with."""
    rng = np.random.default_rng(3)
    model = random_mirt_model(120, 5, rng)
    trials = rng.integers(0, 2, (40, 120))
    passes = rng.binomial(trials, rng.random((40, 1)))
    batch = estimate_abilities(model, passes, trials)
    for row in range(40):
        single = estimate_ability(model, passes[row], trials[row])
        np.testing.assert_array_equal(batch[row], single.theta)


def test_order_of_questions_changes_no_bit():
    rng = np.random.default_rng(4)
    model = random_mirt_model(80, 3, rng)
    order = rng.permutation(80)
    shuffled = make_mirt_model(
        model.discrimination[order],
        model.difficulty[order],
        question_ids=tuple(model.question_ids[j] for j in order),
    )
    passes, trials = rng.integers(0, 2, 80), np.ones(80)
    one = estimate_ability(model, passes, trials)
    other = estimate_ability(shuffled, passes[order], trials)
    np.testing.assert_array_equal(one.theta, other.theta)


def test_rank_one_update_is_the_inverse_of_the_grown_information():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(6, 4, 4))
    information = np.matmul(root, root.transpose(0, 2, 1)) + np.eye(4)
    slopes, weight = rng.normal(size=(6, 4)), rng.random(6)
    grown = information + weight[:, None, None] * slopes[:, :, None] * slopes[:, None]
    updated = covariance_after(np.linalg.inv(information), slopes, weight)
    np.testing.assert_allclose(updated, np.linalg.inv(grown), atol=1e-12)


def test_bad_input_is_refused():
    model = make_mirt_model(np.ones((3, 2)), np.zeros(3))
    with pytest.raises(InputError, match="one column for each"):
        estimate_ability(model, [1, 0], [1, 1])
    with pytest.raises(InputError, match="between 0 and"):
        estimate_ability(model, [2, 0, 0], [1, 1, 1])
    with pytest.raises(InputError, match="positive precision"):
        estimate_ability(model, [1, 0, 0], [1, 1, 1], prior_precision=0.0)
    with pytest.raises(InputError, match="prior_mean"):
        estimate_ability(model, [1, 0, 0], [1, 1, 1], prior_mean=[0.0])
