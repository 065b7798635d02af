"""Replays: no leakage, agreement with one-run estimates, order, gains and caches."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from recurring_eval.caching import build_cache, window_rows
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.estimators import fit_gpirt_constants
from recurring_eval.methods import METHODS, aligned_weights, estimate_score, method_named
from recurring_eval.replay import (
    cache_residuals,
    conformal_scale,
    replay_gain_pp,
    replay_runs,
    replayed_gain,
    split_residuals,
)
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets import stratified_subset
from tests.response_matrices import make_matrix, permuted, simulate_rasch


def history(n_runs: int = 40, n_questions: int = 60, *, missing: float = 0.05) -> ResponseMatrix:
    rng = np.random.default_rng(8)
    ability, difficulty = rng.normal(0.5, 0.5, n_runs), rng.normal(0, 1.5, n_questions)
    return simulate_rasch(ability, difficulty, rng=rng, missing=missing)


def test_residuals_cover_the_later_half_and_add_up() -> None:
    matrix = history()
    residuals = split_residuals(matrix, (10, 60), METHODS, rng=np.random.default_rng(0))
    truth = dict(zip(matrix.run_ids, matrix.pass_rates(), strict=True))
    names = {method.name for method in METHODS if method.choose is not None}
    assert {r.method for r in residuals} == names
    assert {r.k for r in residuals} == {10}  # k = N is skipped
    for name in names:
        assert [r.run_id for r in residuals if r.method == name] == list(matrix.run_ids[20:])
    for r in residuals:
        assert r.full_pass_rate == pytest.approx(truth[r.run_id])
        assert r.error == pytest.approx(r.estimate - r.full_pass_rate)
        assert r.model_sd > 0


def test_a_later_run_does_not_move_the_residuals_of_others() -> None:
    matrix = history()
    passes = np.array(matrix.passes)
    passes[-1] = matrix.trials[-1] - passes[-1]
    changed = make_matrix(passes, matrix.trials)
    before, after = (
        split_residuals(m, (15,), ["stratified+gpirt"], rng=np.random.default_rng(0))
        for m in (matrix, changed)
    )
    assert before[:-1] == after[:-1]
    assert before[-1] != after[-1]


def test_order_of_rows_and_columns_is_irrelevant() -> None:
    matrix = history(30, 40)
    rng = np.random.default_rng(1)
    shuffled = permuted(matrix, rng.permutation(30).tolist(), rng.permutation(40).tolist())
    a, b = (
        split_residuals(m, (12,), METHODS, rng=np.random.default_rng(5)) for m in (matrix, shuffled)
    )
    assert a == b


def test_a_short_history_has_no_residuals() -> None:
    tiny = make_matrix([[1, 0, 1], [0, 1, 1], [1, 1, 0]])
    assert split_residuals(tiny, (2,), METHODS, rng=np.random.default_rng(0)) == []
    six = history(6, 12)
    found = {r.method for r in split_residuals(six, (4,), METHODS, rng=np.random.default_rng(0))}
    assert found == {"random", "random+pirt", "stratified", "stratified+pirt"}


def test_replay_agrees_with_the_estimate_of_each_run() -> None:
    matrix = history()
    model = fit_rasch(matrix)
    gpirt = fit_gpirt_constants(matrix, rng=np.random.default_rng(0))
    subset = stratified_subset(model, "bank", 20)
    method = method_named("stratified+gpirt")
    weights = aligned_weights(model, subset)
    residuals = replay_runs(method, matrix, model=model, weights=weights, k=20, gpirt=gpirt)
    for i, r in enumerate(residuals):
        single = estimate_score(
            method=method,
            model=model,
            passes=matrix.passes[i],
            trials=matrix.trials[i],
            subset=subset,
            gpirt=gpirt,
            population=matrix.trials[i] > 0,
        )
        assert r.estimate == pytest.approx(single.pass_rate, abs=1e-12)


def test_runs_without_an_answer_to_a_chosen_question_are_left_out() -> None:
    matrix = history(10, 12, missing=0.0)
    trials = np.array(matrix.trials)
    model = fit_rasch(matrix)
    subset = stratified_subset(model, "bank", 3)
    weights = aligned_weights(model, subset)
    trials[4, weights > 0] = 0
    gap = make_matrix(np.minimum(matrix.passes, trials), trials)
    residuals = replay_runs(method_named("stratified"), gap, model=model, weights=weights, k=3)
    assert [r.run_id for r in residuals] == [f"r{i:04d}" for i in range(10) if i != 4]


def test_scale_takes_the_newest_residuals_of_one_method_and_size() -> None:
    residuals = split_residuals(
        history(), (10, 20), ["stratified", "random"], rng=np.random.default_rng(0)
    )
    mine = [r for r in residuals if r.method == "stratified" and r.k == 20]
    scale = conformal_scale(residuals, method="stratified", k=20, newest=12)
    assert scale.residuals.tolist() == [r.error for r in mine[-12:]]
    assert conformal_scale(residuals, method="stratified", k=30).n == 0


def test_gain_is_the_paired_difference_of_absolute_errors() -> None:
    matrix = history()
    model = fit_rasch(matrix)
    few, many = (stratified_subset(model, "bank", k) for k in (3, 50))
    gain = replayed_gain(matrix, few, many, method="stratified", model=model, n_recent=25)
    errors = [
        np.abs(
            [
                r.error
                for r in replay_runs(
                    method_named("stratified"),
                    matrix.select_runs(slice(15, None)),
                    model=model,
                    weights=aligned_weights(model, subset),
                    k=subset.k,
                )
            ]
        )
        for subset in (few, many)
    ]
    difference = 100 * (errors[0] - errors[1])
    assert gain.n_runs == 25
    assert gain.gain_pp == pytest.approx(difference.mean())
    assert gain.standard_error_pp == pytest.approx(difference.std(ddof=1) / 5)
    assert replay_gain_pp(
        matrix, few, many, method="stratified", model=model, n_recent=25
    ) == pytest.approx(gain.gain_pp - 3 * gain.standard_error_pp)
    same = replayed_gain(matrix, few, few, method="stratified", model=model)
    assert (same.gain_pp, same.certain_pp) == (0.0, 0.0)


def test_gain_without_runs_is_never_certain() -> None:
    matrix = history()
    model = fit_rasch(matrix)
    subset = stratified_subset(model, "bank", 3)
    none = matrix.select_runs(slice(0, 0))
    gain = replayed_gain(none, subset, subset, method="stratified", model=model)
    assert gain.n_runs == 0
    assert gain.certain_pp == float("-inf")


def test_cache_replay_uses_strictly_earlier_routine_days() -> None:
    base = history(24, 30, missing=0.0)
    matrix = ResponseMatrix(
        passes=base.passes,
        trials=base.trials,
        run_ids=base.run_ids,
        question_ids=base.question_ids,
        started_at=tuple(
            datetime(2026, 5, 1, tzinfo=UTC) + timedelta(hours=8 * i) for i in range(24)
        ),
        agents=base.agents,
    )
    routine = np.arange(24) % 4 != 0
    model = fit_rasch(matrix)
    target = np.zeros(24, dtype=bool)
    target[[20, 10]] = True
    residuals = cache_residuals(
        matrix, model=model, routine=routine, targets=target, epsilon=0.2, n_days=3
    )
    assert [r.run_id for r in residuals] == ["r0010", "r0020"]
    day = matrix.started_at[20].date()
    rows = window_rows(matrix, day, n_days=3)
    cache = build_cache(matrix.select_runs(rows[routine[rows]]), epsilon=0.2)
    executed = ~cache.cached
    majority = 2 * cache.passes >= cache.n_trials
    expected = np.where(executed, matrix.passes[20], majority).mean()
    assert residuals[1].estimate == pytest.approx(expected)
    assert residuals[1].k == executed.sum()
