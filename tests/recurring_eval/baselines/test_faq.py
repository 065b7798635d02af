"""FAQ against worked examples H and H2, enumeration and a general optimiser."""

import numpy as np
import pytest

from recurring_eval.calibration.factorisation import factorise, select_factorisation
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.irt import sigmoid
from recurring_eval.methods.faq import (
    FaqSettings,
    faq_runs,
    pai_term,
    sampling_chances,
    update_state,
)

FACTORS = np.array([(1, 0.5), (0.2, -1), (-0.6, 0.4), (1.5, -0.3), (0, 0.8)])
MEAN = np.array([[0.4, 0.1]])
COVARIANCE = np.array([[[0.5, 0.1], [0.1, 0.3]]])
SETTINGS = FaqSettings(rho=0.5, tau=0.25)
TRUTH = np.array([[1.0, 0.0, 0.0, 1.0, 1.0]])
EVERY = np.ones((1, 5), dtype=bool)


def chances(mean, covariance, unseen, step, settings=SETTINGS):
    return sampling_chances(
        FACTORS,
        mean,
        covariance,
        population=EVERY,
        unseen=unseen,
        step=step,
        budget=3,
        settings=settings,
    )


def test_worked_example_h_of_the_first_step():
    q = chances(MEAN, COVARIANCE, EVERY, 1)
    assert q[0] == pytest.approx((0.244896, 0.152390, 0.169814, 0.276445, 0.156455), abs=1e-6)
    predicted = sigmoid(MEAN @ FACTORS.T)
    assert predicted[0] == pytest.approx(
        (0.610639, 0.495000, 0.450166, 0.638763, 0.519989), abs=1e-6
    )
    chosen = np.array([3])
    phi = pai_term(predicted, TRUTH, population=EVERY, seen=~EVERY, chosen=chosen, chance=q[:, 3])
    assert phi == pytest.approx([0.804256], abs=1e-6)
    mean, covariance = update_state(MEAN, COVARIANCE, FACTORS[chosen], np.array([1.0]))
    assert mean[0] == pytest.approx((0.608899, 0.117408), abs=1e-6)
    assert covariance[0].ravel() == pytest.approx(
        (0.403925, 0.091994, 0.091994, 0.299333), abs=1e-6
    )


def test_the_active_and_the_exploring_weights_of_worked_example_h():
    only_exploring = FaqSettings(rho=0.0, tau=1e-12)
    q = chances(MEAN, COVARIANCE, EVERY, 1, only_exploring)
    assert q[0] == pytest.approx((0.197807, 0.202826, 0.201826, 0.194868, 0.202673), abs=1e-6)
    # A huge rho leaves the active weights alone.
    only_active = FaqSettings(rho=1e12, tau=1e-12)
    q = chances(MEAN, COVARIANCE, EVERY, 1, only_active)
    assert q[0] == pytest.approx((0.383968, 0.003908, 0.075604, 0.516045, 0.020474), abs=1e-6)


def second_step():
    mean, covariance = update_state(MEAN, COVARIANCE, FACTORS[[3]], np.array([1.0]))
    seen = np.array([[False, False, False, True, False]])
    return mean, seen, chances(mean, covariance, ~seen, 2)


def phi_2(chosen, *, corrected):
    """The released code leaves the predictions of seen questions, as if none were seen."""
    mean, seen, q = second_step()
    return pai_term(
        sigmoid(mean @ FACTORS.T),
        TRUTH,
        population=EVERY,
        seen=seen & corrected,
        chosen=np.array([chosen]),
        chance=q[:, chosen],
    )[0]


def test_worked_example_h2_of_the_second_step():
    _, _, q = second_step()
    assert q[0] == pytest.approx((0.243011, 0.253200, 0.250800, 0, 0.252989), abs=1e-6)
    assert phi_2(1, corrected=False) == pytest.approx(0.166797, abs=1e-6)
    assert phi_2(1, corrected=True) == pytest.approx(0.225510, abs=1e-6)


def test_only_the_corrected_term_is_unbiased_without_replacement():
    _, _, q = second_step()
    expected = {
        corrected: sum(q[0, j] * phi_2(j, corrected=corrected) for j in (0, 1, 2, 4))
        for corrected in (False, True)
    }
    assert expected[False] == pytest.approx(0.541287, abs=1e-6)
    assert expected[True] == pytest.approx(TRUTH.mean(), abs=1e-12)


def test_the_estimate_is_unbiased_over_all_paths():
    """Every path of two questions, weighted by its chance, averages to the score."""
    draws = (np.arange(400) + 0.5) / 400
    u1, u2 = (grid.ravel() for grid in np.meshgrid(draws, draws))
    runs = faq_runs(
        FACTORS,
        MEAN[0],
        COVARIANCE[0],
        np.repeat(TRUTH, len(u1), axis=0),
        np.ones((len(u1), 5), dtype=bool),
        2,
        draws=np.column_stack([u1, u2]),
        settings=SETTINGS,
    )
    assert (runs.observed.sum(axis=1) == 2).all()
    assert runs.score.mean() == pytest.approx(TRUTH.mean(), abs=5e-3)


def test_only_the_population_is_asked_and_exhausted_runs_stop():
    population = np.array([[True, True, False, False, False], [True] * 5])
    outcomes = np.repeat(TRUTH, 2, axis=0)
    draws = np.random.default_rng(0).random((2, 4))
    runs = faq_runs(FACTORS, MEAN[0], COVARIANCE[0], outcomes, population, 4, draws=draws)
    assert runs.observed[0].tolist() == population[0].tolist()
    assert runs.observed[1].sum() == 4
    assert np.isfinite(runs.score).all()


def test_factorisation_is_stationary_and_ignores_missing_cells():
    rng = np.random.default_rng(2)
    trials = np.where(rng.random((12, 30)) < 0.2, 0.0, 2.0)
    passes = rng.binomial(trials.astype(int), 0.6).astype(float)
    found = factorise(passes, trials, rank=3, penalty=1.0)
    residual = passes - trials * sigmoid(found.runs @ found.questions.T)
    assert residual @ found.questions == pytest.approx(found.runs, abs=0.05)
    assert residual.T @ found.runs == pytest.approx(found.questions, abs=0.05)


def test_selection_prefers_the_rank_that_generated_the_data():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 80)) * 1.5
    passes = (rng.random(x.shape) < sigmoid(x)).astype(int)
    found = select_factorisation(passes, np.ones_like(passes), rng=rng)
    assert found.questions.shape == (80, 2)


def test_selection_keeps_the_rank_below_the_number_of_runs():
    passes = np.array([[1, 0, 1, 0], [1, 1, 0, 0]])
    found = select_factorisation(passes, np.ones_like(passes), rng=np.random.default_rng(0))
    assert found.runs.shape == (2, 1)
    with pytest.raises(NotEnoughDataError, match="1 runs x 4 questions"):
        select_factorisation(passes[:1], passes[:1] * 0 + 1, rng=np.random.default_rng(0))
