"""Simulated histories: the whole, what each option changes and leaves alone, the logs."""

import time
from datetime import date, timedelta

import numpy as np
import pytest
from scipy.stats import binomtest

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.records import FAIL, MISSING, PASS, RunPurpose
from recurring_eval.simulate import (
    MISSING_REASONS,
    OTHER_FAMILY_RUNS,
    SimulationOptions,
    simulate_history,
    simulated_logs,
)

SMALL = {"n_questions": 60, "n_days": 20, "calibration_days": 10, "runs_per_day": 6.0}


def simulate(seed=0, **options):
    return simulate_history(SimulationOptions(**options), rng=np.random.default_rng(seed))


def assert_share(hits, n, share):
    """Share within what a binomial allows once in a million."""
    assert binomtest(int(hits), int(n), share).pvalue > 1e-6


# --- the whole history -----------------------------------------------------------------


def test_equal_seeds_give_equal_histories_and_other_seeds_do_not():
    first, second, other = simulate(3, **SMALL), simulate(3, **SMALL), simulate(4, **SMALL)
    assert first.matrix.run_ids == second.matrix.run_ids
    assert first.matrix.started_at == second.matrix.started_at
    assert first.config_keys == second.config_keys
    np.testing.assert_array_equal(first.verdicts.outcome, second.verdicts.outcome)
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    assert not np.array_equal(first.questions.difficulty, other.questions.difficulty)


def test_the_calibrated_history_has_the_published_size_and_takes_under_a_second():
    before = time.process_time()
    history = simulate(1)
    assert time.process_time() - before < 1
    assert history.matrix.n_questions == 519
    assert 500 < history.matrix.n_runs < 720
    assert history.day.min() == 1
    assert history.day.max() == 52


def test_mean_probability_over_the_test_half_is_the_one_asked_for():
    for wanted in (0.785, 0.4):
        history = simulate(2, mean_pass_rate=wanted)
        test_half = history.day > history.options.calibration_days
        assert history.probabilities[test_half].mean() == pytest.approx(wanted, abs=1e-8)
        # Verdicts follow: 150 000 of them, so three decimals.
        assert history.matrix.pass_rates()[test_half].mean() == pytest.approx(wanted, abs=0.01)


def test_rows_are_in_time_order_and_days_are_utc_dates():
    history = simulate(5, first_day=date(2026, 3, 2), other_families=(9, 4), **SMALL)
    started = history.matrix.started_at
    assert list(started) == sorted(started)
    for moment, day in zip(started, history.day, strict=True):
        assert moment.utcoffset() == timedelta(0)
        assert moment.date() == date(2026, 3, 2) + timedelta(days=int(day) - 1)


def test_calibration_and_test_rows_are_the_covered_runs_of_each_half():
    history = simulate(6, n_questions=100, other_families=(40,))
    trials = history.matrix.trials
    expected = {"calibration": [], "test": []}
    for row in range(history.matrix.n_runs):
        if history.families[row] == "main" and np.count_nonzero(trials[row]) >= 80:
            expected["calibration" if history.day[row] <= 28 else "test"].append(row)
    assert history.calibration_rows().tolist() == expected["calibration"]
    assert history.test_rows().tolist() == expected["test"]
    assert 0 < history.covered.sum() < history.matrix.n_runs
    assert not set(history.test_rows("family-2")) & set(history.test_rows())


def test_matrix_counts_the_trials():
    history = simulate(7, n_trials=4, lost_passes="missing", **SMALL)
    outcome = history.verdicts.outcome
    assert outcome.shape[2] == 4
    np.testing.assert_array_equal(history.matrix.passes, np.sum(outcome == PASS, axis=2))
    np.testing.assert_array_equal(history.matrix.trials, np.sum(outcome != MISSING, axis=2))
    np.testing.assert_array_equal(history.verdicts.reason >= 0, outcome == MISSING)


def test_sizes_down_to_one_question_and_two_days_work():
    tiny = simulate(0, n_questions=1, n_days=2, calibration_days=1, mean_pass_rate=0.5)
    assert tiny.matrix.n_questions == 1
    demo = simulate(0, n_questions=120, runs_per_day=2.0)
    assert demo.matrix.n_questions == 120
    assert 60 < demo.matrix.n_runs < 160


# --- options ---------------------------------------------------------------------------


def test_lost_passes_recorded_as_missing_change_only_the_lost_cells():
    failed, missing = simulate(19, **SMALL), simulate(19, lost_passes="missing", **SMALL)
    lost = failed.verdicts.lost
    np.testing.assert_array_equal(lost, missing.verdicts.lost)
    assert lost.any()
    assert (failed.verdicts.outcome[lost] == FAIL).all()
    assert (missing.verdicts.outcome[lost] == MISSING).all()
    assert (missing.verdicts.reason[lost] == MISSING_REASONS.index("error")).all()
    np.testing.assert_array_equal(failed.verdicts.outcome[~lost], missing.verdicts.outcome[~lost])


def test_a_regression_lowers_ability_from_its_day_on_and_nothing_before():
    plain, worse = simulate(20), simulate(20, regression_day=40)
    after = plain.day >= 40
    np.testing.assert_array_equal(plain.questions.difficulty, worse.questions.difficulty)
    np.testing.assert_allclose(
        (plain.ability - worse.ability)[after], [[0.45, 0, 0, 0]] * after.sum()
    )
    np.testing.assert_array_equal(plain.verdicts.outcome[~after], worse.verdicts.outcome[~after])
    drop = (plain.probabilities - worse.probabilities)[after].mean()
    assert 0.02 < drop < 0.05  # statistics.md speaks of a 2.9 pp regression


def test_a_grader_change_scales_the_chosen_questions_from_its_day_on():
    plain, graded = simulate(21), simulate(21, grader_change_day=35)
    after, chosen = plain.day >= 35, graded.regraded
    assert_share(chosen.sum(), chosen.size, 0.08)
    ratio = graded.probabilities / plain.probabilities
    np.testing.assert_allclose(ratio[np.ix_(after, chosen)], 0.4)
    np.testing.assert_allclose(ratio[np.ix_(after, ~chosen)], 1)
    np.testing.assert_allclose(ratio[~after], 1)
    np.testing.assert_array_equal(plain.verdicts.outcome[~after], graded.verdicts.outcome[~after])


def test_other_families_have_their_counts_and_leave_the_main_family_alone():
    alone, together = simulate(22), simulate(22, other_families=OTHER_FAMILY_RUNS)
    families = np.array(together.families)
    counts = [np.count_nonzero(families == f"family-{i}") for i in range(2, 7)]
    assert counts == [90, 75, 60, 44, 30]
    main = families == "main"
    np.testing.assert_array_equal(together.verdicts.outcome[main], alone.verdicts.outcome)
    np.testing.assert_array_equal(together.probabilities[main], alone.probabilities)

    drift_free = simulate(22, other_families=OTHER_FAMILY_RUNS, quiet=True)
    shifts = []
    for i in range(2, 7):
        row = list(drift_free.families).index(f"family-{i}")
        shift = drift_free.difficulty[row] - drift_free.questions.difficulty
        shifts += [shift[drift_free.questions.cluster == cluster] for cluster in range(3)]
    assert np.mean([s.std() for s in shifts]) == pytest.approx(0.7, rel=0.05)
    assert 0.2 < np.std([s.mean() for s in shifts]) < 0.9


def test_a_quiet_agent_has_one_release_and_constant_difficulty():
    history = simulate(23, quiet=True, **SMALL)
    assert np.ptp(history.difficulty, axis=0).max() == 0
    routine = [k for k, r in zip(history.config_keys, history.is_routine, strict=True) if r]
    assert len(set(routine)) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_questions": 0}, "n_questions"),
        ({"calibration_days": 52}, "calibration_days"),
        ({"calibration_days": 0}, "calibration_days"),
        ({"runs_per_day": 0.0}, "runs_per_day"),
        ({"runs_per_day": float("nan")}, "runs_per_day"),
        ({"mean_pass_rate": 1.0}, "mean_pass_rate"),
        ({"experiment_share": -0.1}, "experiment_share"),
        ({"n_trials": 0}, "n_trials"),
        ({"lost_passes": "ignored"}, "lost_passes"),
        ({"regression_day": 0}, "regression_day"),
        ({"grader_change_day": 0}, "grader_change_day"),
        ({"grader_change_factor": 1.2}, "grader_change_factor"),
        ({"other_families": (10, 0)}, "other_families"),
    ],
)
def test_bad_options_are_refused_by_name(options, named):
    with pytest.raises(InputError, match=f"`{named}`"):
        SimulationOptions(**options)


def test_a_pass_rate_out_of_reach_and_an_empty_test_half_are_refused():
    with pytest.raises(InputError, match="`mean_pass_rate`"):
        simulate(0, mean_pass_rate=0.99)
    with pytest.raises(NotEnoughDataError, match="days 29 to 52 have no run"):
        simulate(0, runs_per_day=1e-9)


# --- logs ------------------------------------------------------------------------------


def test_logs_carry_every_trial_of_every_run():
    history = simulate(24, n_trials=2, other_families=(5,), lost_passes="missing", **SMALL)
    logs = simulated_logs(history, benchmark="swe-tasks")
    assert [log.run_key for log in logs] == list(history.matrix.run_ids)
    for row, log in enumerate(logs):
        passes, trials = np.zeros(60, dtype=int), np.zeros(60, dtype=int)
        np.add.at(passes, log.question_index, log.outcome == PASS)
        np.add.at(trials, log.question_index, log.outcome != MISSING)
        np.testing.assert_array_equal(passes, history.matrix.passes[row])
        np.testing.assert_array_equal(trials, history.matrix.trials[row])
        pairs = set(zip(log.question_index.tolist(), log.trial.tolist(), strict=True))
        assert len(pairs) == log.outcome.size == 120
        np.testing.assert_array_equal(log.reason_index >= 0, log.outcome == MISSING)
        assert log.reason_index.max() < len(log.reasons)
        assert (log.purpose is RunPurpose.ROUTINE) == history.is_routine[row]
        assert log.agent_family == history.families[row]
        assert log.agent_config == history.config_keys[row]
        assert log.benchmark == "swe-tasks"
