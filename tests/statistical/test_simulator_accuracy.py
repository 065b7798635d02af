"""Error and coverage of the methods on the calibrated simulator, seeds 1-6.

The published column of each table was measured with another implementation of the same
generative model, whose random streams are not these: agreement within 12 % is what six
histories can show. The simulator was checked on seeds 11-40 and never adjusted on seeds 1-6.
"""

from dataclasses import dataclass
from datetime import UTC
from functools import cache

import numpy as np
import pytest

from recurring_eval.caching import build_cache, cache_score, window_rows
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.estimators import fit_gpirt_constants
from recurring_eval.intervals import conformal_scale
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.evidence import aligned_weights
from recurring_eval.methods.fixed import GPIRT
from recurring_eval.methods.registry import method_named
from recurring_eval.replay.residuals import fixed_residuals, replay_runs
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.simulate import SimulatedHistory, SimulationOptions, simulate_history

pytestmark = pytest.mark.statistical

SEEDS = range(1, 7)
N_DRAWS = 20
LEVEL = 0.9
TOLERANCE = 0.12

RANDOM_MAE = {100: 2.84, 200: 1.77, 300: 1.16}
STRATIFIED_GPIRT_MAE = {100: 2.33, 200: 1.40, 300: 0.97}
ORACLE_FLOOR = {100: 0.82, 200: 0.54, 300: 0.35}
CACHING_MAE = {0.216: 7.08, 0.691: 1.67, 0.828: 0.88}


@dataclass(frozen=True)
class Setting:
    """One history, calibrated on its first half."""

    history: SimulatedHistory
    earlier: ResponseMatrix
    test: ResponseMatrix
    calibration: Calibration


@cache
def setting(seed: int) -> Setting:
    history = simulate_history(SimulationOptions(), rng=np.random.default_rng(seed))
    earlier = history.matrix.select_runs(history.calibration_rows())
    constants = fit_gpirt_constants(earlier, rng=np.random.default_rng(100 + seed))
    return Setting(
        history=history,
        earlier=earlier,
        test=history.matrix.select_runs(history.test_rows()),
        calibration=Calibration(rasch=fit_rasch(earlier), fitted={GPIRT.name: constants}),
    )


def replayed(seed, method_name, k, rng):
    """Replay the test half with one drawn subset."""
    at = setting(seed)
    method = method_named(method_name)
    rasch = at.calibration.rasch
    weights = aligned_weights(rasch, method.choose(rasch, "simulated", k, rng=rng))
    return replay_runs(method, at.test, calibration=at.calibration, weights=weights, k=k)


@cache
def mae_pp(method_name, k):
    per_seed = []
    for seed in SEEDS:
        rng = np.random.default_rng(200 + seed)
        draws = [replayed(seed, method_name, k, rng) for _ in range(N_DRAWS)]
        per_seed.append(np.mean([abs(r.error) for draw in draws for r in draw]))
    return 100 * np.mean(per_seed)


@pytest.mark.parametrize("k", RANDOM_MAE)
def test_random_error_against_the_published_simulator(k):
    assert mae_pp("random", k) == pytest.approx(RANDOM_MAE[k], rel=TOLERANCE)


@pytest.mark.parametrize("k", STRATIFIED_GPIRT_MAE)
def test_stratified_gpirt_error_against_the_published_simulator(k):
    assert mae_pp("stratified+gpirt", k) == pytest.approx(STRATIFIED_GPIRT_MAE[k], rel=TOLERANCE)


def test_stratified_beats_random_by_more_than_the_noise_at_every_k():
    for k in RANDOM_MAE:
        assert mae_pp("stratified+gpirt", k) < 0.93 * mae_pp("random", k)


@pytest.mark.parametrize("k", ORACLE_FLOOR)
def test_oracle_floor_against_the_published_simulator(k):
    """True probabilities known, and the k valid questions with the largest p (1 - p) asked."""
    per_seed = []
    for seed in SEEDS:
        history = setting(seed).history
        rows = history.test_rows()
        p = history.probabilities[rows]
        valid = history.matrix.trials[rows] > 0
        doubt = np.where(valid, p * (1 - p), -1)
        rank = np.argsort(np.argsort(-doubt, axis=1, kind="stable"), axis=1)
        unasked = valid & (rank >= k)
        surprise = np.where(unasked, history.matrix.passes[rows] - p, 0).sum(axis=1)
        per_seed.append(np.mean(np.abs(surprise / valid.sum(axis=1))))
    assert 100 * np.mean(per_seed) == pytest.approx(ORACLE_FLOOR[k], rel=TOLERANCE)


def caching_sweep(seed):
    """Execution fraction and MAE with nothing cached and for epsilon 0, .01, ..., .30.

    All routine runs feed the window, and a cached verdict counts whether or not
    the run itself has a verdict on the question, as in the production formula; of
    the possible readings this one gave the published errors on seeds 17-40. Caching
    nothing executes everything and is exact: the end of the curve that lets errors
    be compared at equal execution, though epsilon 0 already caches 15-20 %.
    """
    history, test = setting(seed).history, setting(seed).test
    routine = history.matrix.select_runs(history.is_routine)
    days = np.array([start.astimezone(UTC).date() for start in test.started_at])
    windows = {day: routine.select_runs(window_rows(routine, day)) for day in np.unique(days)}
    truth = test.pass_rates()
    fractions, errors = [1.0], [0.0]
    for epsilon in np.arange(31) / 100:
        fraction, estimate = np.empty(test.n_runs), np.empty(test.n_runs)
        for day, window in windows.items():
            today = days == day
            cached = build_cache(window, epsilon=float(epsilon))
            fraction[today] = 1.0 - cached.cached.mean()
            estimate[today] = cache_score(cached, test.passes[today], test.trials[today])
        fractions.append(fraction.mean())
        errors.append(100 * np.abs(estimate - truth).mean())
    return np.array(fractions), np.array(errors)


def test_caching_error_against_the_published_simulator_at_equal_execution():
    sweeps = [caching_sweep(seed) for seed in SEEDS]
    fraction = np.mean([f for f, _ in sweeps], axis=0)
    error = np.mean([e for _, e in sweeps], axis=0)
    assert (np.diff(fraction) <= 0).all()
    for wanted, published in CACHING_MAE.items():
        assert np.abs(fraction - wanted).min() < 0.04
        at_wanted = np.interp(wanted, fraction[::-1], error[::-1])
        assert at_wanted == pytest.approx(published, rel=TOLERANCE)


def test_the_same_configuration_run_twice_differs_by_about_6_points():
    """Disjoint consecutive pairs; 5.9 pp in the description."""
    differences = []
    for seed in SEEDS:
        history = setting(seed).history
        score = history.matrix.pass_rates()
        waiting: dict[str, int] = {}
        for row in np.flatnonzero(history.covered):
            key = history.config_keys[row]
            if key in waiting:
                differences.append(score[row] - score[waiting.pop(key)])
            else:
                waiting[key] = int(row)
    assert len(differences) > 1000
    assert 100 * np.std(differences) == pytest.approx(5.9, rel=TOLERANCE)


def test_verdict_noise_of_a_full_run_is_1_4_points():
    noise = []
    for seed in SEEDS:
        history = setting(seed).history
        p = history.probabilities[history.test_rows()]
        noise.append(np.mean(np.sqrt((p * (1 - p)).sum(axis=1)) / history.matrix.n_questions))
    assert 100 * np.mean(noise) == pytest.approx(1.4, abs=0.1)


@cache
def interval_hits(method_name, k):
    """Whether each test run's interval holds its full score, pooled over seeds."""
    hits = []
    for seed in SEEDS:
        at = setting(seed)
        rng = np.random.default_rng(300 + seed)
        residuals = fixed_residuals(at.earlier, k, [method_named(method_name)], rng=rng)
        scale = conformal_scale(residuals, method=method_name, k=k)
        for _ in range(5):
            for run in replayed(seed, method_name, k, rng):
                half = scale.half_width(
                    run.model_sd,
                    level=LEVEL,
                    pass_rate=run.estimate,
                    k=k,
                    n=at.calibration.n_questions,
                )
                hits.append(abs(run.error) <= half.value)
    return np.array(hits)


def test_nominal_90_percent_intervals_cover_86_to_94_percent_pooled():
    hits = [
        interval_hits(name, k)
        for name in ("stratified+weighted", "stratified+gpirt")
        for k in (100, 200)
    ]
    assert 0.86 <= np.concatenate(hits).mean() <= 0.94
    # Each alone has a quarter of the runs.
    for alone in hits:
        assert 0.84 <= alone.mean() <= 0.96
