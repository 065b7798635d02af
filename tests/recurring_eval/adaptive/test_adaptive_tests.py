"""What holds for adaptive tests under an item-response model, whatever their rule."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.ability import estimate_abilities
from recurring_eval.adaptive import askable_questions, replay_sessions
from recurring_eval.calibration.rasch import ABILITY_SD
from recurring_eval.errors import InputError
from recurring_eval.methods.mirt_cat import MIRT, MIRT_CAT, MIRT_CAT_STANDARD_PRIOR
from recurring_eval.methods.rasch_cat import RASCH_CAT
from recurring_eval.methods.session import Session
from tests.mirt_models import make_mirt_model, random_mirt_model, simulate_mirt
from tests.rasch_models import make_model
from tests.recurring_eval.adaptive.sessions import (
    RULES,
    calibration_of,
    run_session,
    start_session,
)

every_rule = pytest.mark.parametrize("rule", RULES)
PASS, FAIL, MISSING = (1, 1), (0, 1), (0, 0)


def model_for(rule, n=30, seed=0):
    rng = np.random.default_rng(seed)
    if rule == "rasch-cat":
        return make_model(rng.normal(0, 2, n))
    return random_mirt_model(n, 3, rng)


def verdicts_of(model, rng, missing=0.1):
    drawn = rng.choice(3, model.n_questions, p=[0.6, 0.4 - missing, missing])
    verdicts = [(PASS, FAIL, MISSING)[i] for i in drawn]
    return dict(zip(model.question_ids, verdicts, strict=True))


@every_rule
def test_all_pass_and_all_fail_stay_finite_and_monotone(rule):
    """F06: an all-fail prefix never raises ability or score, an all-pass prefix never lowers them.

    With positive slopes; a multidimensional model in general promises it for the
    score along its general axis only.
    """
    rng = np.random.default_rng(2)
    beta = rng.normal(2, 1, 30)  # all harder than the start
    model = (
        make_model(beta)
        if rule == "rasch-cat"
        else make_mirt_model(rng.random((30, 1)) + 0.3, beta)
    )
    for verdict, sign in ((FAIL, -1), (PASS, 1)):
        session = start_session(model, rule=rule, k=30)
        abilities, scores = [], []
        while not session.finished:
            session = session.tell(dict.fromkeys(session.ask(), verdict))
            abilities.append(session.score().ability[0].theta[0])
            scores.append(session.score().pass_rate[0])
        assert np.isfinite(abilities).all()
        assert (sign * np.diff(abilities) >= -1e-9).all()
        assert (sign * np.diff(scores) >= -1e-9).all()


def test_two_mixed_answers_in_two_dimensions_are_finite():
    """F10: the prior precision is part of the information from the start."""
    model = make_mirt_model([[1.5, 0.0], [0.0, 1.5], [1.0, 1.0]], [0.0, 0.0, 0.5])
    session = start_session(model, rule="mirt-cat", k=3)
    theta = session.tell({"q0000": PASS, "q0001": FAIL}).score().ability[0].theta
    assert np.abs(theta).max() < 10
    assert theta[0] > 0 > theta[1]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_one_more_pass_never_lowers_the_rasch_estimate(seed):
    rng = np.random.default_rng(seed)
    model = make_model(rng.normal(0, 2, 20))
    outcomes = {f"q{j:04d}": PASS if rng.random() < 0.5 else FAIL for j in rng.permutation(20)[:8]}
    failed = next((question for question, verdict in outcomes.items() if verdict == FAIL), None)
    if failed is None:
        return
    start = start_session(model, rule="rasch-cat", k=20)
    better = start.tell(outcomes | {failed: PASS}).score().pass_rate[0]
    assert better >= start.tell(outcomes).score().pass_rate[0]


@every_rule
def test_replay_asks_what_sessions_ask_step_by_step(rule):
    model = model_for(rule, n=40)
    rng = np.random.default_rng(3)
    trials = (rng.random((6, 40)) < 0.85).astype(int)
    passes = rng.binomial(trials, 0.6)
    ks = (3, 10, 25, 40)
    prior = {"prior_mean": 0.0, "prior_precision": 1.0} if rule == "rasch-cat" else {}
    replayed = replay_sessions(
        askable_questions(model, **prior), passes, trials, choose=RULES[rule], ks=ks
    )
    for row in range(6):
        verdicts = {
            question: (int(s), int(t))
            for question, s, t in zip(model.question_ids, passes[row], trials[row], strict=True)
        }
        for k, estimates in zip(ks, replayed.estimates, strict=True):
            session = run_session(start_session(model, rule=rule, k=k), verdicts)
            valid = [model.question_ids[j] for j, _, t in session.answers if t]
            places = replayed.asked[row][replayed.asked[row] >= 0][:k]
            assert [model.question_ids[j] for j in places] == valid
            scores = session.score(trials[row] > 0)
            # The replay adds up in the order of asking, the score in the order of the bank.
            for name in ("pass_rate", "model_sd", "rerun_variance"):
                np.testing.assert_allclose(
                    getattr(estimates, name)[row],
                    getattr(scores, name)[0],
                    rtol=1e-10,
                    atol=1e-14,
                )
            np.testing.assert_allclose(
                estimates.ability[row].theta, scores.ability[0].theta, rtol=1e-9
            )
            assert estimates.ability[row].n_observed == scores.ability[0].n_observed


@every_rule
def test_replay_in_rounds_asks_what_sessions_ask_in_rounds(rule):
    model = model_for(rule, n=40)
    rng = np.random.default_rng(8)
    trials = np.ones((5, 40), dtype=int)
    passes = rng.binomial(1, 0.6, (5, 40))
    prior = {"prior_mean": 0.0, "prior_precision": 1.0} if rule == "rasch-cat" else {}
    replayed = replay_sessions(
        askable_questions(model, **prior),
        passes,
        trials,
        choose=RULES[rule],
        ks=(10, 27),
        per_round=4,
    )
    for row in range(5):
        verdicts = {q: (int(s), 1) for q, s in zip(model.question_ids, passes[row], strict=True)}
        session = run_session(start_session(model, rule=rule, k=10), verdicts, n=4)
        first = [model.question_ids[j] for j in replayed.asked[row][:10]]
        assert first == [model.question_ids[j] for j, _, _ in session.answers]
        assert len(set(replayed.asked[row].tolist())) == 27


def test_model_sd_is_the_spread_of_scores_drawn_from_the_posterior():
    rng = np.random.default_rng(5)
    model = dataclasses.replace(random_mirt_model(60, 2, rng), prior_precision=1.0)
    session = run_session(
        start_session(model, rule="mirt-cat", k=40),
        verdicts_of(model, rng, missing=0.0),
    )
    scores = session.score()
    ability = scores.ability[0]
    draws = rng.multivariate_normal(ability.theta, ability.covariance, 40_000)
    p = 1 / (1 + np.exp(model.difficulty - draws @ model.discrimination.T))
    unseen = ~np.isin(model.question_ids, session.asked)
    drawn = (rng.random(p.shape) < p)[:, unseen].sum(axis=1) / 60
    assert drawn.std() == pytest.approx(scores.model_sd[0], rel=0.08)


def test_rerun_variance_is_that_of_estimates_about_the_expected_score():
    """The same agent answers the same 150 questions many times over."""
    rng = np.random.default_rng(6)
    model = random_mirt_model(200, 2, rng)
    theta, asked = np.array([0.5, -0.3]), np.arange(200) % 4 > 0
    p = 1 / (1 + np.exp(model.difficulty - model.discrimination @ theta))
    passes = (rng.random((4000, 200)) < p) & asked
    fitted = estimate_abilities(model, passes, np.tile(asked, (4000, 1)))
    predicted = 1 / (1 + np.exp(model.difficulty - fitted @ model.discrimination.T))
    errors = np.where(asked, passes, predicted).mean(axis=1) - p.mean()
    one = start_session(model, rule="mirt-cat", k=200).tell(
        {f"q{j:04d}": (int(passes[0, j]), 1) for j in np.flatnonzero(asked)}
    )
    scores = one.score()
    assert errors.std() == pytest.approx(
        np.sqrt(scores.model_sd[0] ** 2 + scores.rerun_variance[0]), rel=0.1
    )


def test_population_limits_the_score_but_not_the_evidence():
    model = make_model([0.0, 0.0, 0.0, 0.0])
    session = start_session(model, rule="rasch-cat", k=3)
    session = session.tell({"q0000": PASS, "q0001": PASS})
    scores = session.score(np.array([True, False, True, False]))
    p = 1 / (1 + np.exp(-scores.ability[0].theta[0]))
    assert p > 0.5
    assert scores.pass_rate[0] == pytest.approx((1 + p) / 2)


def test_trials_are_weighed_by_their_number():
    model = make_model([0.0, 1.0])
    start = start_session(model, rule="rasch-cat", k=2)
    three = start.tell({"q0000": (2, 3)}).score()
    assert three.ability[0].n_observed == 1
    assert three.pass_rate[0] > start.tell({"q0000": FAIL}).score().pass_rate[0]


def test_rasch_cat_starts_at_zero_with_the_prior_of_the_calibration():
    model = make_model([-1.0, 0.0, 0.6, 2.0], prior_mean=2.0)
    calibration, rng = calibration_of(model), np.random.default_rng(0)
    session = Session.start(RASCH_CAT, calibration, k=4, rng=rng)
    assert session.ask() == ("q0001",)
    ability = session.score().ability[0]
    assert ability.theta.tolist() == [0.0]
    np.testing.assert_allclose(ability.covariance, [[ABILITY_SD**2]])


def test_the_standard_prior_is_n_0_i_and_mirt_cat_has_that_of_recent_runs():
    source = simulate_mirt(40, 30, 2, rng=np.random.default_rng(4))
    fitted = {
        method.name: method.prepare(source, rng=np.random.default_rng(1)).score
        for method in (MIRT_CAT, MIRT_CAT_STANDARD_PRIOR)
    }
    start = {
        name: Session.start(score.func.__self__, *score.args, k=5, rng=np.random.default_rng(2))
        for name, score in fitted.items()
    }
    standard = start[MIRT_CAT_STANDARD_PRIOR.name].score().ability[0]
    np.testing.assert_array_equal(standard.theta, np.zeros(len(standard.theta)))
    np.testing.assert_allclose(standard.covariance, np.eye(len(standard.theta)))
    model = start[MIRT_CAT.name].calibration[MIRT]
    recent = start[MIRT_CAT.name].score().ability[0]
    np.testing.assert_array_equal(recent.theta, model.prior_mean)
    np.testing.assert_allclose(
        recent.covariance, np.eye(model.n_dimensions) / model.prior_precision
    )


def test_replay_refuses_what_does_not_fit():
    questions = askable_questions(make_model([0.0, 1.0]))
    choose = RULES["rasch-cat"]
    with pytest.raises(InputError, match="one column for each"):
        replay_sessions(questions, [[1]], [[1]], choose=choose, ks=(1,))
    with pytest.raises(InputError, match="at least one number"):
        replay_sessions(questions, [[1, 0]], [[1, 1]], choose=choose, ks=())
    with pytest.raises(InputError, match="`k` is 5"):
        replay_sessions(questions, [[1, 0]], [[1, 1]], choose=choose, ks=(5,))
