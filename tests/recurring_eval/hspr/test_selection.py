"""Staged source-only selection."""

import math
from dataclasses import replace

import numpy as np
import pytest

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.hspr import fit_sources, select_configuration
from recurring_eval.hspr.selection import (
    KAPPA_GRID,
    LATENT_GRID,
    Candidate,
    best_candidate,
    held_out_rows,
)
from tests.recurring_eval.hspr.builders import config_of
from tests.recurring_eval.hspr.test_sources import simulated
from tests.reference.hspr_runs import run_hspr


@pytest.fixture(scope="module")
def matrix():
    return simulated(4, m=5, n=40)


@pytest.fixture(scope="module")
def selection(matrix):
    return select_configuration(matrix, budget=10, rng=np.random.default_rng(0), selection_nodes=32)


def test_the_grids_are_the_published_ones(selection):
    assert len(LATENT_GRID) == 11
    stages = [candidate.stage for candidate in selection.candidates]
    assert (stages.count("global"), stages.count("hierarchical"), stages.count("median")) == (
        44,
        16,
        2,
    )


def test_each_stage_keeps_what_the_one_before_chose(selection):
    by_stage = {
        stage: [c for c in selection.candidates if c.stage == stage]
        for stage in ("global", "hierarchical", "median")
    }
    first = best_candidate(by_stage["global"]).config
    assert math.isinf(first.kappa)
    assert first.decision == "mean"
    assert {c.config.latent for c in by_stage["hierarchical"]} == {first.latent}
    second = best_candidate(by_stage["hierarchical"]).config
    assert second.kappa in KAPPA_GRID
    for candidate in by_stage["median"]:
        assert candidate.config.decision == "median"
        assert (candidate.config.kappa, candidate.config.acquisition) == (
            second.kappa,
            second.acquisition,
        )
    last = best_candidate(by_stage["median"]).config
    assert selection.config == replace(last, n_nodes=8192, double_precision=False)


def test_errors_of_the_global_stage_are_those_of_held_out_runs(matrix, selection):
    candidate = selection.candidates[9]
    errors = []
    for row in range(5):
        model = fit_sources(matrix.select_runs(np.delete(np.arange(5), row)))
        ones = np.ones(40, dtype=int)
        result = run_hspr(
            model, matrix.passes[row], ones, budget=10, config=candidate.config, rng=None
        )
        errors.append(abs(result.pass_rate - matrix.passes[row].mean()))
    assert candidate.mae == pytest.approx(np.mean(errors), abs=1e-12)
    assert candidate.largest == pytest.approx(np.max(errors), abs=1e-12)


def test_selection_is_reproducible_and_blind_to_row_order(matrix, selection):
    again = select_configuration(
        matrix.select_runs(np.array([3, 1, 4, 0, 2])),
        budget=10,
        rng=np.random.default_rng(0),
        selection_nodes=32,
    )
    assert again == selection


def candidate_with(mae, largest, kappa):
    return Candidate(
        stage="hierarchical", config=config_of(0, 1.0, kappa=kappa), mae=mae, largest=largest
    )


def test_ties_go_to_the_smaller_largest_error_and_then_to_the_first():
    tied = [
        candidate_with(0.02, 0.05, 1.0),
        candidate_with(0.01, 0.04, 2.0),
        candidate_with(0.01 + 1e-15, 0.03, 3.0),
        candidate_with(0.01, 0.03 + 1e-15, 4.0),
    ]
    assert best_candidate(tied).config.kappa == 3.0
    assert best_candidate(tied[:2]).config.kappa == 2.0


def test_held_out_sources_are_bounded_and_spread_over_the_scores():
    scores = np.random.default_rng(0).permutation(100) / 100
    rows = held_out_rows(scores, 10)
    assert sorted(scores[rows]) == pytest.approx(np.arange(0.05, 1.0, 0.1))
    assert len(held_out_rows(scores, None)) == 100
    assert len(held_out_rows(scores[:7], 10)) == 7


def test_too_few_sources_or_a_wrong_budget_are_refused(matrix):
    with pytest.raises(NotEnoughDataError, match="at least 3 source runs"):
        select_configuration(
            matrix.select_runs(np.arange(2)), budget=5, rng=np.random.default_rng(0)
        )
    with pytest.raises(InputError, match="budget"):
        select_configuration(matrix, budget=41, rng=np.random.default_rng(0))
