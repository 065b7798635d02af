"""What holds for every adaptive session, whatever its rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.ability import estimate_abilities
from recurring_eval.adaptive import (
    RULES,
    Session,
    replay_sessions,
    run_session,
    start_session,
)
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS
from tests.mirt_models import make_mirt_model, random_mirt_model
from tests.rasch_models import make_model

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def model_for(rule, n=30, seed=0):
    rng = np.random.default_rng(seed)
    return make_model(rng.normal(0, 2, n)) if rule.rasch_only else random_mirt_model(n, 3, rng)


def verdicts_of(model, rng, missing=0.1):
    drawn = rng.choice([PASS, FAIL, MISSING], model.n_questions, p=[0.6, 0.4 - missing, missing])
    return dict(zip(model.question_ids, drawn.tolist(), strict=True))


@every_rule
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 30), n=st.integers(1, 7))
def test_asks_nothing_twice_and_replaces_missing_verdicts(rule, seed, k, n):
    model = model_for(rule)
    verdicts = verdicts_of(model, np.random.default_rng(seed))
    session = run_session(start_session(model, method=rule.name, k=k), verdicts, n)
    assert len(set(session.asked)) == len(session.asked)
    n_possible = sum(verdict != MISSING for verdict in verdicts.values())
    assert session.n_valid == min(k, n_possible)
    assert session.ask() == ()
    estimate = session.estimate()
    assert estimate.n_asked == len(session.asked)
    passes = sum(verdicts[question] == PASS for question in session.asked)
    low = passes / model.n_questions
    assert (
        low - 1e-12 <= estimate.pass_rate <= low + 1 - session.n_valid / model.n_questions + 1e-12
    )


@every_rule
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 5))
def test_session_rebuilt_from_asked_and_outcomes_is_the_same(rule, seed, n):
    model = model_for(rule)
    verdicts = verdicts_of(model, np.random.default_rng(seed))
    session = run_session(start_session(model, method=rule.name, k=12), verdicts, n)
    rebuilt = Session(
        questions=session.questions,
        method=session.method,
        k=20,
        asked=session.asked,
        outcomes=session.outcomes,
    )
    longer = Session(
        questions=session.questions,
        method=session.method,
        k=12,
        asked=session.asked,
        outcomes=session.outcomes,
    )
    assert longer == session
    assert rebuilt.estimate().pass_rate == session.estimate().pass_rate
    stepwise = start_session(model, method=rule.name, k=20)
    for question, outcome in zip(session.asked, session.outcomes, strict=True):
        stepwise = stepwise.tell({question: outcome})
    assert stepwise.ask(3) == rebuilt.ask(3)
    assert stepwise.estimate().pass_rate == rebuilt.estimate().pass_rate


@every_rule
def test_full_budget_is_exact_with_no_model_uncertainty(rule):
    model = model_for(rule)
    verdicts = verdicts_of(model, np.random.default_rng(1), missing=0.0)
    session = run_session(start_session(model, method=rule.name, k=30), verdicts)
    passed = sum(verdict == PASS for verdict in verdicts.values())
    assert session.estimate().pass_rate == pytest.approx(passed / 30, abs=1e-15)
    assert session.estimate().model_sd == 0


@every_rule
def test_all_pass_and_all_fail_stay_finite_and_monotone(rule):
    """F06: an all-fail prefix never raises ability or score, an all-pass prefix never lowers them.

    With positive slopes; a multidimensional model in general promises it for the
    score along its general axis only.
    """
    rng = np.random.default_rng(2)
    beta = rng.normal(2, 1, 30)  # all harder than the start
    model = (
        make_model(beta) if rule.rasch_only else make_mirt_model(rng.random((30, 1)) + 0.3, beta)
    )
    for verdict, sign in ((FAIL, -1), (PASS, 1)):
        session = start_session(model, method=rule.name, k=30)
        abilities, scores = [], []
        while not session.finished:
            session = session.tell(dict.fromkeys(session.ask(), verdict))
            abilities.append(session.estimate().ability.theta[0])
            scores.append(session.estimate().pass_rate)
        assert np.isfinite(abilities).all()
        assert (sign * np.diff(abilities) >= -1e-9).all()
        assert (sign * np.diff(scores) >= -1e-9).all()


def test_two_mixed_answers_in_two_dimensions_are_finite():
    """F10: the prior precision is part of the information from the start."""
    model = make_mirt_model([[1.5, 0.0], [0.0, 1.5], [1.0, 1.0]], [0.0, 0.0, 0.5])
    session = start_session(model, method="mirt-cat", k=3).tell({"q0000": PASS, "q0001": FAIL})
    theta = session.estimate().ability.theta
    assert np.abs(theta).max() < 10
    assert theta[0] > 0 > theta[1]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_one_more_pass_never_lowers_the_rasch_estimate(seed):
    rng = np.random.default_rng(seed)
    model = make_model(rng.normal(0, 2, 20))
    asked = rng.permutation(20)[:8]
    outcomes = {f"q{j:04d}": int(rng.random() < 0.5) for j in asked}
    failed = next((question for question, verdict in outcomes.items() if verdict == FAIL), None)
    if failed is None:
        return
    start = start_session(model, method="rasch-cat", k=20)
    better = start.tell(outcomes | {failed: PASS}).estimate().pass_rate
    assert better >= start.tell(outcomes).estimate().pass_rate


@every_rule
def test_replay_equals_step_by_step_bit_by_bit(rule):
    model = model_for(rule, n=40)
    rng = np.random.default_rng(3)
    trials = (rng.random((6, 40)) < 0.85).astype(int)
    passes = rng.binomial(trials, 0.6)
    ks = (3, 10, 25, 40)
    replayed = replay_sessions(model, passes, trials, method=rule.name, ks=ks)
    for row in range(6):
        verdicts = {
            question: (int(s), int(t))
            for question, s, t in zip(model.question_ids, passes[row], trials[row], strict=True)
        }
        for k, estimates in zip(ks, replayed.estimates, strict=True):
            session = run_session(start_session(model, method=rule.name, k=k), verdicts)
            valid = [q for q, (_, t) in zip(session.asked, session.outcomes, strict=True) if t]
            places = replayed.asked[row][replayed.asked[row] >= 0][:k]
            assert [model.question_ids[j] for j in places] == valid
            estimate = session.estimate(trials[row] > 0)
            assert estimates.pass_rate[row] == estimate.pass_rate
            rounding = 0 if len(valid) == k else 1e-12
            for name in ("model_sd", "rerun_variance"):
                np.testing.assert_allclose(
                    getattr(estimates, name)[row], getattr(estimate, name), rtol=rounding
                )
            np.testing.assert_allclose(estimates.theta[row], estimate.ability.theta, rtol=rounding)
            assert estimates.n_valid[row] == estimate.n_valid


@every_rule
def test_order_of_the_models_questions_is_irrelevant(rule):
    model = model_for(rule)
    rng = np.random.default_rng(4)
    order = rng.permutation(30)
    ids = tuple(model.question_ids[j] for j in order)
    shuffled = (
        make_model(model.difficulty[order], question_ids=ids)
        if rule.rasch_only
        else make_mirt_model(model.discrimination[order], model.difficulty[order], question_ids=ids)
    )
    verdicts = verdicts_of(model, rng)
    one = run_session(start_session(model, method=rule.name, k=15), verdicts)
    other = run_session(start_session(shuffled, method=rule.name, k=15), verdicts)
    assert one.asked == other.asked
    assert one.estimate().pass_rate == other.estimate().pass_rate


def test_model_sd_is_the_spread_of_scores_drawn_from_the_posterior():
    rng = np.random.default_rng(5)
    model = random_mirt_model(60, 2, rng)
    session = run_session(
        start_session(model, method="mirt-cat", k=40, prior_precision=1.0),
        verdicts_of(model, rng, missing=0.0),
    )
    estimate = session.estimate()
    draws = rng.multivariate_normal(estimate.ability.theta, estimate.ability.covariance, 40_000)
    p = 1 / (1 + np.exp(model.difficulty - draws @ model.discrimination.T))
    unseen = ~np.isin(model.question_ids, session.asked)
    scores = (rng.random(p.shape) < p)[:, unseen].sum(axis=1) / 60
    assert scores.std() == pytest.approx(estimate.model_sd, rel=0.08)


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
    one = start_session(model, method="mirt-cat", k=200).tell(
        {f"q{j:04d}": int(passes[0, j]) for j in np.flatnonzero(asked)}
    )
    estimate = one.estimate()
    assert errors.std() == pytest.approx(
        np.sqrt(estimate.model_sd**2 + estimate.rerun_variance), rel=0.1
    )


def test_population_limits_the_score_but_not_the_evidence():
    model = make_model([0.0, 0.0, 0.0, 0.0])
    session = start_session(model, method="rasch-cat", k=3).tell({"q0000": PASS, "q0001": PASS})
    inside = np.array([True, False, True, False])
    estimate = session.estimate(inside)
    p = 1 / (1 + np.exp(-estimate.ability.theta[0]))
    assert p > 0.5
    assert estimate.pass_rate == pytest.approx((1 + p) / 2)


def test_trials_are_weighed_by_their_number():
    model = make_model([0.0, 1.0])
    start = start_session(model, method="rasch-cat", k=2)
    three = start.tell({"q0000": (2, 3)}).estimate()
    assert three.ability.n_observed == 1
    assert three.pass_rate > start.tell({"q0000": FAIL}).estimate().pass_rate


def test_wrong_verdicts_are_refused_and_change_nothing():
    session = start_session(make_model([0.0, 1.0]), method="rasch-cat", k=2).tell({"q0000": PASS})
    for outcomes, message in (
        ({"q0000": FAIL}, "nothing twice"),
        ({"other": PASS}, "not a question"),
        ({"q0001": (2, 1)}, "2 passes in 1 trials"),
        ({"q0001": 7}, "give PASS, FAIL, MISSING"),
    ):
        with pytest.raises(InputError, match=message):
            session.tell(outcomes)
    assert session.asked == ("q0000",)
    with pytest.raises(InputError, match="at least 1"):
        session.ask(0)
    with pytest.raises(InputError, match="population"):
        session.estimate(np.zeros(2, dtype=bool))
    with pytest.raises(InputError, match="`k` is 3"):
        start_session(make_model([0.0, 1.0]), method="rasch-cat", k=3)


def test_replay_refuses_what_does_not_fit():
    model = make_model([0.0, 1.0])
    with pytest.raises(InputError, match="one column for each"):
        replay_sessions(model, [[1]], [[1]], method="rasch-cat", ks=(1,))
    with pytest.raises(InputError, match="at least one number"):
        replay_sessions(model, [[1, 0]], [[1, 1]], method="rasch-cat", ks=())
    with pytest.raises(InputError, match="`k` is 5"):
        replay_sessions(model, [[1, 0]], [[1, 1]], method="rasch-cat", ks=(5,))
