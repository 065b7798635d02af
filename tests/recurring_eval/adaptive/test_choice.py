"""Which question an adaptive rule asks next: worked examples, determinants, ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.adaptive import askable_questions, choose_by_information, choose_d_optimal
from recurring_eval.adaptive.questions import verdict_variance
from recurring_eval.adaptive.rules import d_criterion, first_best
from recurring_eval.errors import InputError
from tests.mirt_models import make_mirt_model, random_mirt_model
from tests.rasch_models import make_model
from tests.recurring_eval.adaptive.sessions import start_session

EXAMPLE_D = ([[1, 0.2], [0.3, 1.1], [0.8, 0.8], [0.1, 0.3]], [0, 0.5, -0.5, 0])


def criterion_of(model, theta, information):
    questions = askable_questions(model)
    theta, information = np.array([theta]), np.array([information])
    weight = verdict_variance(questions, theta)
    return d_criterion(questions, weight, np.linalg.inv(information))[0]


def test_worked_example_d():
    """methods.md D, both steps."""
    model = make_mirt_model(*EXAMPLE_D)
    first = criterion_of(model, [0.2, -0.1], np.eye(2))
    np.testing.assert_allclose(first, [0.257905, 0.301610, 0.294528, 0.024999], atol=1e-6)
    information = [[1.018643, 0.068359], [0.068359, 1.250649]]
    second = criterion_of(model, [-0.087898, -0.322292], information)
    np.testing.assert_allclose(second[[0, 2, 3]], [0.247528, 0.266846, 0.019658], atol=1e-6)


def test_worked_example_d_as_a_session():
    model = make_mirt_model(*EXAMPLE_D)
    session = start_session(model, rule="mirt-cat", k=3, standard_prior=True)
    after = session.tell({"q0001": (0, 1)})
    assert after.ask() == ("q0002",)
    np.testing.assert_allclose(after.score().ability[0].theta, [-0.087898, -0.322292], atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), d=st.integers(1, 5))
def test_d_optimal_choice_maximises_the_determinant(seed, d):
    rng = np.random.default_rng(seed)
    model = random_mirt_model(30, d, rng)
    questions = askable_questions(model)
    theta = rng.normal(size=(1, d))
    root = rng.normal(size=(d, d))
    information = (root @ root.T + 0.05 * np.eye(d))[np.newaxis]
    available = rng.random((1, 30)) < 0.6
    available[0, 0] = True
    n = min(3, int(available.sum()))
    chosen = choose_d_optimal(questions, theta, information, available, n)[0]
    weight = verdict_variance(questions, theta)[0]
    grown = information[0]
    left = set(np.flatnonzero(available[0]))
    for place in chosen:
        assert place in left
        gains = {
            j: np.linalg.slogdet(
                grown + weight[j] * np.outer(questions.slopes[j], questions.slopes[j])
            )[1]
            for j in left
        }
        assert gains[place] == pytest.approx(max(gains.values()), rel=1e-9)
        grown = grown + weight[place] * np.outer(questions.slopes[place], questions.slopes[place])
        left.remove(place)


def test_fisher_choice_is_nearest_the_ability():
    questions = askable_questions(make_model([-2.0, 0.9, 0.1, 3.0, -0.3]))
    available = np.ones((2, 5), dtype=bool)
    chosen = choose_by_information(
        questions, np.array([[0.0], [2.0]]), np.ones((2, 1, 1)), available, 3
    )
    assert chosen.tolist() == [[2, 4, 1], [3, 1, 2]]


def test_fisher_and_d_optimal_agree_on_a_rasch_model():
    rng = np.random.default_rng(1)
    model = make_model(rng.normal(0, 2, 40))
    questions = askable_questions(model)
    theta, information = rng.normal(size=(6, 1)), 1 + rng.random((6, 1, 1))
    arguments = (questions, theta, information, np.ones((6, 40), dtype=bool), 5)
    np.testing.assert_array_equal(choose_by_information(*arguments), choose_d_optimal(*arguments))


def test_symmetric_difficulties_tie_in_spite_of_rounding():
    # .5 - .45 and .55 - .5 differ in doubles; the first in order is asked.
    for difficulty in ([0.45, 0.55], [0.55, 0.45]):
        questions = askable_questions(make_model(difficulty))
        theta, information = np.array([[0.5]]), np.ones((1, 1, 1))
        available = np.ones((1, 2), dtype=bool)
        for choose in (choose_by_information, choose_d_optimal):
            chosen = choose(questions, theta, information, available, 1)
            assert questions.ids[chosen[0, 0]] == "q0000"


def test_ties_break_by_id_or_by_the_order_given():
    model = make_model([0.0, 0.0, 0.0], question_ids=("b", "c", "a"))
    assert askable_questions(model).ids == ("a", "b", "c")
    assert start_session(model, rule="rasch-cat", k=3).ask(3) == ("a", "b", "c")
    session = start_session(model, rule="rasch-cat", k=3, tie_order=[2, 0, 1])
    assert session.ask(3) == ("c", "a", "b")


def test_first_best_ignores_what_is_not_available():
    criterion = np.array([[3.0, 1.0, 2.0, 2.0 * (1 - 1e-12)]])
    assert first_best(criterion, np.array([[False, True, True, True]])).tolist() == [2]
    assert first_best(np.zeros((1, 3)), np.array([[False, True, True]])).tolist() == [1]


def test_orders_and_priors_that_do_not_fit_are_refused():
    model = make_model([0.0, 1.0])
    with pytest.raises(InputError, match="tie_order"):
        askable_questions(model, tie_order=[0, 0])
    for prior in (
        {"prior_precision": -1.0},
        {"prior_precision": np.inf},
        {"prior_mean": [0.0, 1.0]},
        {"prior_mean": np.nan},
    ):
        with pytest.raises(InputError, match="prior"):
            askable_questions(model, **prior)
    with pytest.raises(InputError, match="prior"):
        askable_questions(make_mirt_model(*EXAMPLE_D), prior_mean=[0.0])
