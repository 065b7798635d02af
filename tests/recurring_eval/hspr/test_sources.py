"""Fitting and thinning the sources."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr import fit_sources, thin_sources
from recurring_eval.hspr.items import fit_items, residual_directions
from recurring_eval.hspr.model import (
    DEFAULT_TRIAL_CORRELATION,
    group_means,
    signature_groups,
    trial_correlation,
)
from recurring_eval.response_matrix import ResponseMatrix
from tests.recurring_eval.hspr.builders import matrix_of


def simulated(seed=0, *, m=14, n=80, trials=1, missing=0.0):
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(0, 1, (m, 1)), rng.normal(0.3, 1.5, n)
    p = 1 / (1 + np.exp(difficulty - ability))
    counts = np.full((m, n), trials) * (rng.random((m, n)) >= missing)
    return matrix_of(rng.binomial(counts, p), counts)


def test_items_maximise_their_penalised_likelihood():
    matrix = simulated()
    cells = matrix.passes.astype(float)
    items = fit_items(cells, matrix.trials > 0)
    for j in range(0, 80, 7):

        def negative(x, j=j):
            eta = x[0] + items.ability * x[1]
            likelihood = (cells[:, j] * eta - np.logaddexp(0, eta)).sum()
            return -likelihood + (x[0] - items.initial_intercept[j]) ** 2 / 2 + (x[1] - 1) ** 2

        best = optimize.minimize(negative, [items.initial_intercept[j], 1.0], tol=1e-12).x
        assert (items.intercept[j], items.slope[j]) == pytest.approx(tuple(best), abs=2e-5)


def test_directions_are_the_scaled_singular_vectors():
    matrix = simulated()
    cells = matrix.passes.astype(float)
    items = fit_items(cells, matrix.trials > 0)
    residual = cells - items.fitted
    residual -= residual.mean(axis=0)
    variance = np.maximum((items.fitted * (1 - items.fitted)).mean(axis=0), 0.08)
    # Covariance of the scaled residuals, reproduced by the directions up to rank 8.
    scaled = items.directions * variance[:, None]
    values, vectors = np.linalg.eigh(residual.T @ residual / 13)
    top = vectors[:, -8:] * values[-8:]
    assert scaled @ scaled.T == pytest.approx(top @ vectors[:, -8:].T, abs=1e-10)


def test_directions_beyond_the_rank_are_zero():
    matrix = simulated(m=4)
    items = fit_items(matrix.passes.astype(float), matrix.trials > 0)
    # Four centred rows span three directions.
    assert (items.directions[:, 3:] == 0).all()
    assert np.abs(items.directions[:, :3]).max() > 0.1


def test_missing_cells_change_nothing_where_they_are_whole_sources():
    full = simulated(m=10)
    trials = full.trials.copy()
    trials[3] = 0
    passes = np.where(trials > 0, full.passes, 0)
    without = fit_sources(full.select_runs(np.delete(np.arange(10), 3)))
    missing = fit_sources(matrix_of(passes, trials))
    assert missing.fingerprint == without.fingerprint


def test_missing_cells_leave_every_sum():
    matrix = simulated(missing=0.2)
    valid = matrix.trials > 0
    cells = matrix.passes.astype(float)
    items = fit_items(cells, valid)
    j = int(np.argmax((~valid).sum(axis=0)))
    rows = valid[:, j]

    def negative(x):
        eta = x[0] + items.ability[rows] * x[1]
        likelihood = (cells[rows, j] * eta - np.logaddexp(0, eta)).sum()
        return -likelihood + (x[0] - items.initial_intercept[j]) ** 2 / 2 + (x[1] - 1) ** 2

    best = optimize.minimize(negative, [0.0, 1.0], tol=1e-12).x
    assert (items.intercept[j], items.slope[j]) == pytest.approx(tuple(best), abs=2e-5)
    # A missing cell's residual is zero: filling it with anything changes no direction.
    filled = np.where(valid, cells, 7.0)
    directions = residual_directions(filled, valid, items.fitted)
    assert np.array_equal(directions, items.directions)


def test_signatures_are_exact_rates_with_missing_as_its_own_symbol():
    passes = np.array([[1, 2, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]], dtype=np.int16)
    trials = np.array([[2, 4, 1, 1, 0, 0], [1, 3, 1, 1, 1, 0]], dtype=np.int16)
    #  1/2,0 | 2/4,0/3 equal | 1,0 | 0,0 | missing,0 | missing,missing
    assert signature_groups(passes, trials).tolist() == [0, 0, 1, 2, 3, 4]


def test_groups_average_their_questions():
    assert group_means(np.array([1.0, 2.0, 6.0]), np.array([0, 1, 0])).tolist() == [3.5, 2.0]
    values = np.arange(6.0).reshape(3, 2)
    assert group_means(values, np.array([0, 0, 0])).tolist() == [[2.0, 3.0]]


def test_order_of_rows_and_columns_changes_no_bit():
    matrix = simulated(missing=0.1)
    rng = np.random.default_rng(5)
    shuffled = matrix.select_runs(rng.permutation(matrix.n_runs))
    shuffled = shuffled.align_questions(rng.permutation(matrix.question_ids))
    one, two = fit_sources(matrix), fit_sources(shuffled)
    for name in ("intercept", "slope", "directions"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    position = {question: i for i, question in enumerate(two.question_ids)}
    back = [position[question] for question in one.question_ids]
    assert np.array_equal(two.group_of_question[back], one.group_of_question)


def test_sources_restrict_signatures_but_not_the_item_fit():
    matrix = simulated(m=40)
    everything = fit_sources(matrix)
    thinned = fit_sources(matrix, sources=np.arange(5))
    assert thinned.n_groups < everything.n_groups
    expected = signature_groups(matrix.passes[:5], matrix.trials[:5])
    assert np.array_equal(thinned.group_of_question, expected)
    per_question = everything.intercept[everything.group_of_question]
    assert thinned.intercept == pytest.approx(group_means(per_question, expected), abs=1e-9)


def test_trial_correlation_is_recovered():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, (60, 200))
    # Beta rates with correlation rho = 1 / (1 + concentration) = .2.
    rate = rng.beta(4 * p, 4 * (1 - p))
    trials = np.full(p.shape, 5)
    assert trial_correlation(rng.binomial(trials, rate), trials, p) == pytest.approx(0.2, abs=0.02)
    single = np.ones(p.shape)
    assert trial_correlation(single, single, p) == DEFAULT_TRIAL_CORRELATION


def test_too_few_sources_are_refused():
    with pytest.raises(NotEnoughDataError, match="at least 2 source runs"):
        fit_sources(simulated(m=1))


def agents_matrix(agents, n=10):
    m = len(agents)
    return replace(matrix_of(np.zeros((m, n), dtype=int)), agents=tuple(agents))


def test_distinct_agents_are_all_sources():
    matrix = agents_matrix([f"agent-{i}" for i in range(100)])
    assert thin_sources(matrix).tolist() == list(range(100))


def test_runs_of_one_agent_are_thinned_latest_of_each_configuration_first():
    matrix = agents_matrix(["a"] * 100 + ["b"] * 3)
    keys = ["old"] * 10 + ["middle"] * 40 + ["new"] * 50 + ["x"] * 3
    rows = thin_sources(matrix, config_keys=keys, max_runs_per_agent=12)
    of_a = rows[rows < 100]
    assert len(of_a) == 12
    assert {9, 49, 99} <= set(of_a.tolist())
    assert rows[-3:].tolist() == [100, 101, 102]
    # The other nine are spread over the remaining 97 runs.
    others = sorted(set(of_a.tolist()) - {9, 49, 99})
    assert np.diff([-1, *others]).max() <= 13


def test_too_many_configurations_are_spread_in_time_with_the_newest():
    matrix = agents_matrix(["a"] * 90)
    rows = thin_sources(matrix, config_keys=[f"c{i // 2}" for i in range(90)])
    assert len(rows) == 30
    assert rows[-1] == 89
    assert (rows % 2 == 1).all()


def test_runs_with_too_few_verdicts_are_no_sources():
    trials = np.ones((5, 10), dtype=int)
    trials[2, :3] = 0
    matrix = matrix_of(np.zeros((5, 10), dtype=int), trials)
    assert thin_sources(matrix).tolist() == [0, 1, 3, 4]


def test_wrong_number_of_configurations_is_refused():
    with pytest.raises(InputError, match="config_keys"):
        thin_sources(agents_matrix(["a", "b"]), config_keys=["x"])


def test_model_keeps_its_arrays_to_itself():
    model = fit_sources(simulated())
    with pytest.raises(ValueError, match="read-only"):
        model.intercept[0] = 0.0
    assert isinstance(simulated(), ResponseMatrix)
    assert len(model.fingerprint) == 64
