"""Scores of answers in no order, against sessions and against the definitions."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import special

from recurring_eval.errors import InputError
from recurring_eval.hspr import AVERAGE, score_answers
from recurring_eval.hspr.answers import expected_score
from recurring_eval.hspr.group_rates import Outcome
from recurring_eval.hspr.posterior import NodePosterior, log_likelihood
from tests.recurring_eval.hspr.builders import config_of, model_of_groups, place
from tests.reference.hspr_runs import run_hspr, start_session

N = 40
CONFIG = dataclasses.replace(AVERAGE, path_nodes=256, n_nodes=512)


def small_model(seed=0):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(15), rng.integers(0, 15, N - 15)])
    return model_of_groups(
        groups, rng.normal(-0.3, 1.5, 15), rng.uniform(0.5, 1.5, 15), rng.normal(0, 0.7, (15, 2))
    )


def answers(seed, count, trials=1):
    rng = np.random.default_rng(seed)
    asked = np.zeros(N, dtype=int)
    asked[rng.permutation(N)[:count]] = trials
    return rng.binomial(asked, 0.6), asked


@pytest.mark.parametrize("trials", [1, 3, np.arange(30) % 9 + 1], ids=["1", "3", "1 to 9"])
def test_the_score_is_the_same_in_whatever_order_verdicts_came(trials):
    model = small_model()
    passes, asked = answers(1, 30, trials)
    scored = score_answers(model, CONFIG, passes, asked)
    told = np.flatnonzero(asked)
    for order in (told, told[::-1], np.random.default_rng(2).permutation(told)):
        along = run_hspr(model, passes, asked, budget=30, config=CONFIG, rng=None, path=order)
        session = start_session(model, CONFIG, rng=np.random.default_rng(3))
        for j in order:
            session = session.tell({model.question_ids[j]: (int(passes[j]), int(asked[j]))})
        scores = session.score()
        assert along.pass_rate == scores.pass_rate[0] == scored.result.pass_rate
        assert along.sd == scores.model_sd[0] == scored.result.sd
        assert along.mean == scored.result.mean
        for distribution in (along.distribution, scores.distribution[0]):
            assert np.array_equal(distribution.pmf, scored.result.distribution.pmf)


@pytest.mark.parametrize("kappa", [0.5, 4.0])
def test_expected_score_has_the_moments_of_drawn_group_rates(kappa):
    model = small_model(4)
    posterior = NodePosterior(model, config_of(2, 1.0, kappa=kappa), n_nodes=256)
    for group, passed in ((0, 1), (0, 0), (3, 1), (7, 1), (9, 0)):
        posterior.count(Outcome(group, float(passed), float(not passed)))
    posterior.refresh()
    population = np.arange(N) % 5 > 0
    mean, variance = expected_score(posterior, population)

    rng = np.random.default_rng(5)
    node = rng.choice(posterior.n_nodes, size=100_000, p=posterior.weights)
    logits = np.array([posterior.logits(g) for g in range(model.n_groups)])[:, node]
    p = special.expit(logits)
    concentration = kappa / (p * (1 - p))
    passes, fails = posterior.passes[:, np.newaxis], posterior.fails[:, np.newaxis]
    rates = rng.beta(concentration * p + passes, concentration * (1 - p) + fails)
    drawn = rates[model.group_of_question[population]].mean(axis=0)
    assert mean == pytest.approx(drawn.mean(), abs=5 * drawn.std() / math.sqrt(100_000))
    assert variance == pytest.approx(drawn.var(), rel=0.03)


def test_nothing_is_left_of_a_run_but_its_agents_rates_when_all_was_asked():
    model = small_model()
    passes, asked = answers(1, N)
    scored = score_answers(model, CONFIG, passes, asked)
    assert scored.result.pass_rate == pytest.approx(passes.mean(), abs=1e-12)
    assert scored.result.sd == pytest.approx(0.0, abs=1e-12)
    assert scored.rerun_variance > 0


def test_ability_grows_with_the_passes():
    model = small_model()
    _, asked = answers(1, 20)
    theta = [
        float(score_answers(model, CONFIG, asked * outcome, asked).ability.theta[0])
        for outcome in (0, 1)
    ]
    assert theta[0] < 0 < theta[1]


@pytest.mark.parametrize("kappa", [0.25, 4.0, math.inf])
def test_likelihood_is_the_ratio_of_beta_functions(kappa):
    p = np.linspace(0.05, 0.9, 7)
    odds = np.stack([p / (1 - p), p[::-1] / (1 - p[::-1]), np.ones(7)])
    passes, fails = np.array([3.0, 0.0, 1.5]), np.array([2.0, 0.0, 0.75])
    found = log_likelihood(lambda groups: odds[groups], passes, fails, kappa)
    rate = odds / (1 + odds)
    if math.isinf(kappa):
        expected = passes @ np.log(rate) + fails @ np.log(1 - rate)
    else:
        c = kappa / (rate * (1 - rate))
        a, f = c * rate, c * (1 - rate)
        s, t = passes[:, np.newaxis], fails[:, np.newaxis]
        expected = (special.betaln(a + s, f + t) - special.betaln(a, f)).sum(axis=0)
    assert found == pytest.approx(expected, rel=1e-9)


def test_counts_that_do_not_fit_the_bank_are_refused():
    with pytest.raises(InputError, match="one entry for each of the model's 40 questions"):
        score_answers(small_model(), CONFIG, [1], [1])
    with pytest.raises(InputError, match="between 0 and `trials`"):
        score_answers(small_model(), CONFIG, np.full(N, 2), np.ones(N))


def test_hundreds_of_trials_of_a_question_overflow_nowhere():
    model = dataclasses.replace(small_model(), trial_correlation=0.0)
    one = NodePosterior(model, config_of(2, 1.0, double_precision=True), n_nodes=64)
    one.refresh()
    nodes = one.components[0].nodes.copy()
    prior = np.log(one.weights)
    one.observe(Outcome(2, 100.0, 150.0))
    other = NodePosterior(model, config_of(2, 1.0, double_precision=True), n_nodes=64)
    other.count(Outcome(2, 100.0, 150.0))
    place(other, nodes, prior)
    assert one.weights == pytest.approx(other.weights, rel=1e-8, abs=1e-300)
    passes, asked = np.zeros(N, dtype=int), np.zeros(N, dtype=int)
    passes[3], asked[3] = 10_000, 30_000
    assert 0 < score_answers(model, CONFIG, passes, asked).result.pass_rate < 1
