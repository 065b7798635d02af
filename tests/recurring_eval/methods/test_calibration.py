"""Calibrations: which models are there; runs in order of time and their earlier half."""

from datetime import timedelta

import numpy as np
import pytest

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.estimators import GpirtConstants
from recurring_eval.methods.calibration import Calibration, CalibrationRuns
from recurring_eval.methods.fixed import GPIRT
from recurring_eval.methods.mirt_cat import MIRT, MIRT_CAT
from recurring_eval.methods.session import Session
from tests.mirt_models import random_mirt_model
from tests.rasch_models import make_model
from tests.response_matrices import START, make_matrix

MODEL = make_model(np.linspace(-2, 2, 12))


def test_a_calibration_has_the_models_that_were_fitted() -> None:
    constants = GpirtConstants(outcome_variance=0.2, irt_bias=0.03)
    found = Calibration(
        rasch=MODEL, fitted={GPIRT.name: constants}, without={MIRT.name: "12 of 80 runs"}
    )
    assert found[GPIRT] is found.get(GPIRT) is constants
    assert found.get(MIRT) is None
    assert found.has([GPIRT])
    assert not found.has([GPIRT, MIRT])
    assert (found.question_ids, found.n_questions) == (MODEL.question_ids, 12)
    with pytest.raises(NotEnoughDataError, match=r"no M2PL \(12 of 80 runs\)"):
        found[MIRT]
    with pytest.raises(NotEnoughDataError, match="they were not fitted"):
        Calibration(rasch=MODEL)[GPIRT]


def test_models_of_other_questions_are_refused() -> None:
    other = random_mirt_model(11, 2, np.random.default_rng(0))
    with pytest.raises(InputError, match="`rasch` and `mirt` have different questions"):
        Calibration(rasch=MODEL, fitted={MIRT.name: other})


def test_runs_are_sorted_by_time_with_their_configurations_and_halved() -> None:
    matrix = make_matrix(np.eye(5, dtype=int))
    shuffled = matrix.select_runs(np.array([3, 0, 4, 2, 1]))
    runs = CalibrationRuns(matrix=shuffled, configurations=("d", "a", "e", "c", "b"))
    ordered = runs.in_time_order()
    assert ordered.matrix.run_ids == matrix.run_ids
    assert ordered.matrix.started_at == tuple(START + timedelta(hours=i) for i in range(5))
    assert ordered.configurations == ("a", "b", "c", "d", "e")
    earlier = ordered.earlier_half()
    assert (earlier.matrix.run_ids, earlier.configurations) == (matrix.run_ids[:2], ("a", "b"))
    assert CalibrationRuns(matrix=matrix).earlier_half().configurations is None


def test_mirt_cat_without_its_model_asks_and_scores_as_by_d_optimality_under_the_rasch_model() -> (
    None
):
    session = Session.start(
        MIRT_CAT, Calibration(rasch=MODEL), k=4, rng=np.random.default_rng(0)
    ).tell({"q0000": (1, 1), "q0011": (0, 1)})
    scores = session.score()
    assert scores.fingerprint == MODEL.fingerprint
    assert scores.ability[0].theta.shape == (1,)
    # Under equal slopes the most informative question is the one nearest the ability.
    distance = np.abs(MODEL.difficulty - scores.ability[0].theta[0])
    distance[[0, 11]] = np.inf
    (question,) = session.ask()
    assert distance[MODEL.question_ids.index(question)] == pytest.approx(distance.min())
