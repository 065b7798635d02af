"""The adaptive 4PL test against a literal step-by-step reading."""

import numpy as np
import pytest

from recurring_eval.methods.atlas import AbilityGrid, FourPl, atlas_runs, eap


def make_bank(seed, n):
    rng = np.random.default_rng(seed)
    return FourPl(
        slope=np.exp(rng.normal(0, 0.4, n)),
        location=rng.normal(size=n),
        lower=np.full(n, 0.05),
        upper=np.full(n, 0.95),
    )


def literal(bank, passes, trials, k, draws):
    """One run, one question at a time."""
    grid = AbilityGrid.trapezoid(33)
    p = bank.probability(grid.nodes[:, np.newaxis])
    log_likelihood, asked = np.zeros(33), []
    theta = 0.0
    for step in range(k):
        left = [j for j in range(len(passes)) if trials[j] > 0 and j not in asked]
        if not left:
            break
        left.sort(key=lambda j: (-round(float(bank.information(theta)[j]), 12), j))
        best = left[:5]
        j = best[int(draws[step] * len(best))]
        asked.append(j)
        log_likelihood += passes[j] * np.log(p[:, j])
        log_likelihood += (trials[j] - passes[j]) * np.log1p(-p[:, j])
        theta = eap(log_likelihood, grid)
    values = [
        passes[j] / trials[j] if j in asked else bank.probability(theta)[j]
        for j in range(len(passes))
        if trials[j] > 0
    ]
    return np.mean(values), set(asked)


@pytest.mark.parametrize("seed", range(4))
def test_equals_a_literal_reading(seed):
    rng = np.random.default_rng(100 + seed)
    bank = make_bank(seed, 30)
    trials = rng.integers(0, 3, size=(6, 30))
    passes = rng.binomial(trials, 0.5)
    draws = rng.random((6, 9))
    found = atlas_runs(bank, passes, trials, 9, draws=draws)
    for i in range(6):
        score, asked = literal(bank, passes[i], trials[i], 9, draws[i])
        assert found.score[i] == pytest.approx(score, abs=1e-12)
        assert set(np.flatnonzero(found.observed[i])) == asked


def test_a_run_with_few_valid_questions_is_asked_all_of_them():
    bank = make_bank(1, 8)
    trials = np.array([[1, 1, 0, 0, 0, 0, 0, 0], [0] * 8])
    passes = np.array([[1, 0, 0, 0, 0, 0, 0, 0], [0] * 8])
    found = atlas_runs(bank, passes, trials, 5, draws=np.full((2, 5), 0.99))
    assert found.observed.tolist() == (trials > 0).tolist()
    assert found.score[0] == 0.5
    assert np.isnan(found.score[1])
