"""D-optimal steps against worked example D."""

import numpy as np
import pytest

from recurring_eval.adaptive import askable_questions, start_session
from recurring_eval.adaptive.d_optimal import choose_d_optimal, d_criterion, verdict_variance
from recurring_eval.calibration.mirt_model import MirtModel
from recurring_eval.records import FAIL

SLOPES = np.array([(1, 0.2), (0.3, 1.1), (0.8, 0.8), (0.1, 0.3)])
IDS = ("q0", "q1", "q2", "q3")


def make_model():
    return MirtModel(
        question_ids=IDS,
        discrimination=SLOPES,
        difficulty=np.array([0, 0.5, -0.5, 0]),
        run_ids=("r0", "r1"),
        ability=np.array([[-1.0, -1.0], [1.0, 1.0]]),
        n_responses=np.full(4, 10),
        prior_mean=np.zeros(2),
        prior_precision=1.0,
        discrimination_sd=0.5,
        log_posterior=-1.0,
        log_likelihood=-1.0,
        converged=True,
        n_iterations=1,
    )


def test_worked_example_d_of_the_first_choice():
    questions = askable_questions(make_model())
    theta, information = np.array([[0.2, -0.1]]), np.eye(2)[np.newaxis]
    weight = verdict_variance(questions, theta)
    scores = d_criterion(questions, weight, np.linalg.inv(information))
    assert scores[0] == pytest.approx((0.257905, 0.301610, 0.294528, 0.024999), abs=1e-6)
    determinants = [
        np.linalg.det(information[0] + w * np.outer(a, a))
        for w, a in zip(weight[0], SLOPES, strict=True)
    ]
    assert scores[0] == pytest.approx(np.array(determinants) - 1.0)
    chosen = choose_d_optimal(questions, theta, information, np.ones((1, 4), dtype=bool), 1)
    assert chosen.tolist() == [[1]]


def test_worked_example_d_of_the_second_choice():
    session = start_session(make_model(), method="mirt-cat", k=3).tell({"q1": FAIL})
    ability = session.estimate().ability
    assert ability.theta == pytest.approx((-0.087898, -0.322292), abs=1e-6)
    information = np.linalg.inv(ability.covariance)
    assert information.ravel() == pytest.approx((1.018643, 0.068359, 0.068359, 1.250649), abs=1e-6)
    questions = askable_questions(make_model())
    weight = verdict_variance(questions, ability.theta[np.newaxis])
    scores = d_criterion(questions, weight, ability.covariance[np.newaxis])
    assert scores[0, [0, 2, 3]] == pytest.approx((0.247528, 0.266846, 0.019658), abs=1e-6)
    assert session.ask() == ("q2",)
