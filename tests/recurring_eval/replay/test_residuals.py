"""Residuals of fixed methods: no leakage, agreement with one-run estimates; gains and caches."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from recurring_eval.caching import build_cache, window_rows
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.estimators import fit_gpirt_constants
from recurring_eval.intervals import conformal_scale
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.estimate import estimate_score
from recurring_eval.methods.evidence import aligned_weights, gather_evidence
from recurring_eval.methods.fixed import GPIRT, FixedMethod
from recurring_eval.methods.registry import METHODS, method_named
from recurring_eval.replay.gain import N_RECENT, replayed_gain
from recurring_eval.replay.residuals import fixed_residuals, replay_runs
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets import stratified_subset
from tests.response_matrices import make_matrix, permuted, simulate_rasch

FIXED = [method for method in METHODS if isinstance(method, FixedMethod)]


def history(n_runs: int = 40, n_questions: int = 60, *, missing: float = 0.05) -> ResponseMatrix:
    rng = np.random.default_rng(8)
    ability, difficulty = rng.normal(0.5, 0.5, n_runs), rng.normal(0, 1.5, n_questions)
    return simulate_rasch(ability, difficulty, rng=rng, missing=missing)


def named(*names: str) -> list[FixedMethod]:
    return [method_named(name) for name in names]


def test_residuals_cover_the_later_half_and_add_up() -> None:
    matrix = history()
    residuals = fixed_residuals(matrix, 10, FIXED, rng=np.random.default_rng(0))
    truth = dict(zip(matrix.run_ids, matrix.pass_rates(), strict=True))
    names = [method.name for method in FIXED]
    assert {r.method for r in residuals} == set(names)
    assert {r.k for r in residuals} == {10}
    for name in names:
        assert [r.run_id for r in residuals if r.method == name] == list(matrix.run_ids[20:])
    for r in residuals:
        assert r.full_pass_rate == pytest.approx(truth[r.run_id])
        assert r.error == pytest.approx(r.estimate - r.full_pass_rate)
        assert r.model_sd > 0


def test_all_questions_leave_nothing_to_estimate() -> None:
    assert fixed_residuals(history(), 60, FIXED, rng=np.random.default_rng(0)) == []


def test_a_later_run_does_not_move_the_residuals_of_others() -> None:
    matrix = history()
    passes = np.array(matrix.passes)
    passes[-1] = matrix.trials[-1] - passes[-1]
    changed = make_matrix(passes, matrix.trials)
    before, after = (
        fixed_residuals(m, 15, named("stratified+gpirt"), rng=np.random.default_rng(0))
        for m in (matrix, changed)
    )
    assert before[:-1] == after[:-1]
    assert before[-1] != after[-1]


def test_order_of_rows_and_columns_is_irrelevant() -> None:
    matrix = history(30, 40)
    rng = np.random.default_rng(1)
    shuffled = permuted(matrix, rng.permutation(30).tolist(), rng.permutation(40).tolist())
    a, b = (fixed_residuals(m, 12, FIXED, rng=np.random.default_rng(5)) for m in (matrix, shuffled))
    assert a == b


def test_a_short_history_has_no_residuals() -> None:
    tiny = make_matrix([[1, 0, 1], [0, 1, 1], [1, 1, 0]])
    assert fixed_residuals(tiny, 2, FIXED, rng=np.random.default_rng(0)) == []
    six = history(6, 12)
    found = {r.method for r in fixed_residuals(six, 4, FIXED, rng=np.random.default_rng(0))}
    assert found == {"random", "random+pirt", "stratified+weighted", "stratified+pirt"}


def test_replay_agrees_with_the_estimate_of_each_run() -> None:
    matrix = history()
    constants = fit_gpirt_constants(matrix, rng=np.random.default_rng(0))
    calibration = Calibration(rasch=fit_rasch(matrix), fitted={GPIRT.name: constants})
    weights = aligned_weights(calibration.rasch, stratified_subset(calibration.rasch, "bank", 20))
    (method,) = named("stratified+gpirt")
    residuals = replay_runs(method, matrix, calibration=calibration, weights=weights, k=20)
    for i, r in enumerate(residuals):
        one = slice(i, i + 1)
        evidence = gather_evidence(
            calibration,
            matrix.passes[one],
            matrix.trials[one],
            weights=weights,
            population=matrix.trials[i] > 0,
        )
        single = estimate_score(method, evidence)
        assert r.estimate == pytest.approx(single.pass_rate, abs=1e-12)


def test_runs_without_an_answer_to_a_chosen_question_are_left_out() -> None:
    matrix = history(10, 12, missing=0.0)
    trials = np.array(matrix.trials)
    model = fit_rasch(matrix)
    weights = aligned_weights(model, stratified_subset(model, "bank", 3))
    trials[4, weights > 0] = 0
    gap = make_matrix(np.minimum(matrix.passes, trials), trials)
    residuals = replay_runs(
        method_named("stratified"), gap, calibration=Calibration(rasch=model), weights=weights, k=3
    )
    assert [r.run_id for r in residuals] == [f"r{i:04d}" for i in range(10) if i != 4]


def test_scale_takes_the_newest_residuals_of_one_method_and_size() -> None:
    rng = np.random.default_rng(0)
    residuals = [
        r for k in (10, 20) for r in fixed_residuals(history(), k, FIXED, rng=rng.spawn(1)[0])
    ]
    mine = [r for r in residuals if r.method == "stratified+weighted" and r.k == 20]
    scale = conformal_scale(residuals, method="stratified+weighted", k=20, newest=12)
    assert scale.residuals.tolist() == [r.error for r in mine[-12:]]
    assert conformal_scale(residuals, method="stratified+weighted", k=30).n == 0


def test_gain_is_the_paired_difference_of_absolute_errors() -> None:
    matrix = history(75)
    model = fit_rasch(matrix)
    judged = {"method": method_named("stratified"), "calibration": Calibration(rasch=model)}
    few, many = (stratified_subset(model, "bank", k) for k in (3, 50))
    shuffled = permuted(matrix, list(range(74, -1, -1)), list(range(59, -1, -1)))
    gain = replayed_gain(shuffled, few, many, **judged)
    errors = [
        np.abs(
            [
                r.error
                for r in replay_runs(
                    runs=matrix.select_runs(slice(75 - N_RECENT, None)),
                    weights=aligned_weights(model, subset),
                    k=subset.k,
                    **judged,
                )
            ]
        )
        for subset in (few, many)
    ]
    difference = 100 * (errors[0] - errors[1])
    assert gain.n_runs == N_RECENT == 60
    assert gain.gain_pp == pytest.approx(difference.mean())
    assert gain.standard_error_pp == pytest.approx(difference.std(ddof=1) / np.sqrt(60))
    assert gain.certain_pp == pytest.approx(gain.gain_pp - 3 * gain.standard_error_pp)
    same = replayed_gain(matrix, few, few, **judged)
    assert (same.gain_pp, same.certain_pp) == (0.0, 0.0)


def test_gain_without_runs_is_never_certain() -> None:
    matrix = history()
    model = fit_rasch(matrix)
    subset = stratified_subset(model, "bank", 3)
    gain = replayed_gain(
        matrix.select_runs(slice(0, 0)),
        subset,
        subset,
        method=method_named("stratified"),
        calibration=Calibration(rasch=model),
    )
    assert gain.n_runs == 0
    assert gain.certain_pp == float("-inf")


def test_a_cache_is_that_of_strictly_earlier_days() -> None:
    base = history(24, 30, missing=0.0)
    start = datetime(2026, 5, 1, tzinfo=UTC)
    matrix = replace(base, started_at=tuple(start + timedelta(hours=8 * i) for i in range(24)))
    source, target = matrix.select_runs(slice(0, 20)), matrix.select_runs(slice(20, 21))
    prepared = method_named("cache").prepare(source, rng=np.random.default_rng(0))
    found = prepared.estimate(target, 1, rng=np.random.default_rng(0))
    rows = window_rows(matrix, matrix.started_at[20].date())
    assert matrix.started_at[rows[-1]].date() < matrix.started_at[20].date()
    cache = build_cache(matrix.select_runs(rows))
    executed = ~cache.cached
    assert 0 < executed.sum() < 30
    majority = 2 * cache.passes >= cache.n_trials
    expected = np.where(executed, matrix.passes[20], majority).mean()
    assert found.pass_rate[0] == pytest.approx(expected)
    assert found.n_executed[0] == executed.sum()
