"""PTA-IRT's student: gradients, training, selection and the published estimate."""

import numpy as np
import pytest
from scipy import optimize

from recurring_eval.baselines.four_pl import FourPl
from recurring_eval.baselines.pta_fit import fit_pta_student
from recurring_eval.baselines.pta_irt import pta_questions, pta_scores
from recurring_eval.baselines.pta_networks import Network, bank_of, entropy_gradients
from recurring_eval.errors import NotEnoughDataError


def entropy(raw, ability, outcomes):
    bank = bank_of(raw)
    s = 1 / (1 + np.exp(-bank.slope * (ability - bank.location)))
    p = bank.lower + (bank.upper - bank.lower) * s
    return -np.mean(outcomes * np.log(p) + (1 - outcomes) * np.log(1 - p))


def test_gradients_are_those_of_finite_differences():
    rng = np.random.default_rng(1)
    raw, ability = rng.normal(size=(4, 4)), rng.normal(size=4)
    outcomes = np.array([1.0, 0.0, 0.5, 1.0])
    by_raw, by_ability = entropy_gradients(raw, ability, outcomes)

    def of_raw(packed):
        return entropy(packed.reshape(4, 4), ability, outcomes)

    assert by_raw.ravel() == pytest.approx(
        optimize.approx_fprime(raw.ravel(), of_raw, 1e-6), abs=1e-5
    )
    assert by_ability == pytest.approx(
        optimize.approx_fprime(ability, lambda x: entropy(raw, x, outcomes), 1e-6), abs=1e-5
    )


def test_network_gradients_are_those_of_finite_differences():
    rng = np.random.default_rng(2)
    network = Network.drawn(5, 2, rng)
    which, pull = np.array([0, 3, 3, 1]), rng.normal(size=(4, 2))
    found = network.gradients(which, network.hidden(which), pull)
    h = 1e-6
    for parameter, gradient in zip(network.parameters(), found, strict=True):
        at = tuple(rng.integers(size) for size in parameter.shape)
        if parameter is network.w1:
            at = (3, at[1])
        parameter[at] += h
        above = (network.outputs(which) * pull).sum()
        parameter[at] -= 2 * h
        below = (network.outputs(which) * pull).sum()
        parameter[at] += h
        assert gradient[at] == pytest.approx((above - below) / (2 * h), abs=1e-5)


def test_training_orders_runs_and_questions():
    rng = np.random.default_rng(3)
    ability, location = np.linspace(-2, 2, 60), np.linspace(-2, 2, 300)
    p = 1 / (1 + np.exp(-(ability[:, np.newaxis] - location)))
    passes = (rng.random(p.shape) < p).astype(int)
    student = fit_pta_student(passes, np.ones_like(passes), rng=rng)
    assert np.corrcoef(student.ability, ability)[0, 1] > 0.9
    fitted = student.bank.probability(student.ability[:, np.newaxis])
    assert np.corrcoef(fitted.mean(axis=0), p.mean(axis=0))[0, 1] > 0.9


def test_training_needs_verdicts():
    with pytest.raises(NotEnoughDataError, match="at least 2 verdicts"):
        fit_pta_student(np.zeros((2, 3), int), np.zeros((2, 3), int), rng=np.random.default_rng(0))


def make_bank(n):
    return FourPl(
        slope=np.linspace(0.5, 2, n),
        location=np.linspace(-1, 1, n),
        lower=np.full(n, 0.1),
        upper=np.full(n, 0.9),
    )


def test_selection_shares_the_budget_out_over_seven_bins():
    n = 70
    bank = make_bank(n)
    # Rates 0, 1/7, ..., 6/7 and 1 exactly at the edges of the bins: 1 joins the last.
    passes = np.repeat(np.arange(7), 10)
    passes[-5:] = 7
    chosen = pta_questions(bank, np.zeros(3), passes, np.full(n, 7), 14)
    assert np.bincount(np.minimum(passes[chosen], 6)).tolist() == [2] * 7
    information = bank.information(0.0)
    for level in range(7):
        members = np.flatnonzero(np.minimum(passes, 6) == level)
        best = members[np.argsort(-information[members])[:2]]
        assert set(best) <= set(chosen)


def test_abilities_minimise_the_published_loss():
    rng = np.random.default_rng(4)
    bank = make_bank(25)
    outcomes = rng.integers(0, 2, size=(8, 25)).astype(float)
    outcomes[0], outcomes[1] = 1.0, 0.0
    observed = rng.random((8, 25)) < 0.6
    observed[7] = False
    score, ability = pta_scores(bank, outcomes, observed)

    def loss(theta, i):
        p = bank.probability(theta)
        cell = outcomes[i] * np.log(p) + (1 - outcomes[i]) * np.log(1 - p)
        return -cell[observed[i]].mean() + 0.01 * theta**2

    for i in range(7):
        best = optimize.minimize_scalar(loss, args=(i,), bracket=(ability[i] - 0.1, ability[i]))
        assert ability[i] == pytest.approx(best.x, abs=1e-4)
        assert score[i] == pytest.approx(bank.probability(ability[i])[observed[i]].mean())
    assert np.isnan(score[7])
