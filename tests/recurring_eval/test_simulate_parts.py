"""The simulator's parts against their description: moments, formulas, brute force."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from recurring_eval.simulate import MISSING_REASONS, SimulationOptions, simulate_history
from recurring_eval.simulate.questions import draw_loss_rates, draw_questions
from recurring_eval.simulate.runs import draw_runs

SMALL = {"n_questions": 60, "n_days": 20, "calibration_days": 10, "runs_per_day": 6.0}


def simulate(seed=0, **options):
    return simulate_history(SimulationOptions(**options), rng=np.random.default_rng(seed))


def assert_share(hits, n, share):
    """Share within what a binomial allows once in a million."""
    assert binomtest(int(hits), int(n), share).pvalue > 1e-6


# --- questions -------------------------------------------------------------------------


def test_question_parameters_have_the_described_moments():
    n = 40_000
    options = SimulationOptions(n_questions=n)
    questions = draw_questions(options, rng=np.random.default_rng(8))
    assert np.log(questions.general_loading).std() == pytest.approx(0.454, rel=0.03)
    assert np.log(questions.general_loading).mean() == pytest.approx(0, abs=0.01)
    assert questions.difficulty.std() == pytest.approx(2.58, rel=0.03)
    for cluster in range(3):
        assert_share((questions.cluster == cluster).sum(), n, 1 / 3)
    own = questions.specific_loading[np.arange(n), questions.cluster]
    assert np.log(own).std() == pytest.approx(0.3, rel=0.03)
    others = questions.specific_loading.sum(axis=1) - own
    assert set(np.round(others, 12)) == {0.0, 0.6}
    assert_share((others > 0).sum(), n, 0.313)
    flaky = questions.flakiness[questions.flakiness > 0]
    assert_share(flaky.size, n, 0.139)
    assert flaky.min() >= 0.4
    assert flaky.max() <= 0.9
    assert flaky.mean() == pytest.approx(0.65, abs=0.02)
    assert questions.missing_weight.mean() == pytest.approx(1)
    assert np.log(questions.missing_weight).std() == pytest.approx(0.7, rel=0.03)


def test_drift_events_are_54_in_the_default_and_in_proportion_otherwise():
    rng = np.random.default_rng(9)
    assert draw_questions(SimulationOptions(), rng=rng).drift_time.size == 54
    half = SimulationOptions(n_questions=519, n_days=26, calibration_days=13)
    assert draw_questions(half, rng=rng).drift_time.size == 27
    assert draw_questions(SimulationOptions(quiet=True), rng=rng).drift_time.size == 0


def test_difficulty_at_a_time_adds_the_steps_so_far():
    questions = draw_questions(SimulationOptions(n_questions=90), rng=np.random.default_rng(10))
    times = np.array([0.0, 11.5, 30.0, 52.0])
    expected = np.tile(questions.difficulty, (4, 1))
    for row, now in enumerate(times):
        for event in range(questions.drift_time.size):
            if questions.drift_time[event] <= now:
                expected[row, questions.drift_question[event]] += questions.drift_step[event]
    np.testing.assert_allclose(questions.difficulty_at(times), expected, atol=1e-12)


# --- runs ------------------------------------------------------------------------------


def test_schedule_releases_and_branches_have_the_described_rates():
    options = SimulationOptions(n_days=5200, calibration_days=1)
    runs = draw_runs(options, rng=np.random.default_rng(11))
    assert runs.time.size == pytest.approx(60_000, rel=0.02)
    weekday = (np.floor(runs.time).astype(int) + options.first_day.weekday()) % 7
    per_day = np.bincount(weekday) / np.bincount(weekday).mean()
    weights = np.array([1, 1.15, 1.15, 1.1, 0.95, 0.35, 0.35])
    np.testing.assert_allclose(per_day, weights / weights.mean(), atol=0.05)
    assert (runs.time % 1).mean() == pytest.approx(4 / 7, abs=0.01)
    assert runs.release[-1] == pytest.approx(1300, rel=0.1)

    experiment = runs.branch >= 0
    assert_share(experiment.sum(), runs.time.size, 0.59)
    sizes = np.bincount(runs.branch[experiment])
    assert sizes.mean() == pytest.approx(3, rel=0.03)
    assert sizes[:-1].var() == pytest.approx(2, rel=0.05)
    # A branch is a stretch of consecutive experiment runs.
    assert (np.diff(runs.branch[experiment]) >= 0).all()


def test_abilities_of_a_quiet_agent_have_the_described_spread():
    options = SimulationOptions(n_days=2000, calibration_days=1, quiet=True)
    runs = draw_runs(options, rng=np.random.default_rng(12))
    assert not runs.release.any()
    routine = runs.branch < 0
    np.testing.assert_allclose(
        runs.ability[routine].std(axis=0), [0.45, 0.25, 0.25, 0.25], rtol=0.05
    )
    spread = np.hypot([0.6, 1.4, 1.4, 1.4], [0.45, 0.25, 0.25, 0.25])
    np.testing.assert_allclose(runs.ability[~routine].std(axis=0), spread, rtol=0.05)


def test_releases_move_the_agent_by_the_described_steps_around_a_centred_path():
    options = SimulationOptions(n_days=8000, calibration_days=1)
    seed = 13
    moving = draw_runs(options, rng=np.random.default_rng(seed))
    quiet_options = SimulationOptions(n_days=8000, calibration_days=1, quiet=True)
    path = moving.ability - draw_runs(quiet_options, rng=np.random.default_rng(seed)).ability
    np.testing.assert_allclose(path.mean(axis=0), 0, atol=1e-9)
    new_release = np.flatnonzero(np.diff(moving.release) == 1)
    step = np.diff(path, axis=0)[new_release]
    np.testing.assert_allclose(step.std(axis=0), [0.232, 0.227, 0.227, 0.227], rtol=0.08)
    assert step[:, 0].mean() == pytest.approx(0.0346, abs=0.03)


def test_config_keys_name_release_and_branch():
    history = simulate(14, **SMALL)
    experiment_keys = {
        key
        for key, routine in zip(history.config_keys, history.is_routine, strict=True)
        if not routine
    }
    routine_keys = set(history.config_keys) - experiment_keys
    assert all("branch" in key for key in experiment_keys)
    assert all("branch" not in key for key in routine_keys)


# --- verdicts --------------------------------------------------------------------------


def test_probabilities_are_the_described_formula():
    history = simulate(15, **SMALL)
    questions = history.questions
    general = history.ability[:, :1] * questions.general_loading
    specific = history.ability[:, 1:] @ questions.specific_loading.T
    sigma = expit(general + specific - history.difficulty)
    phi = questions.flakiness
    expected = ((1 - phi) * sigma + phi / 2) * (1 - history.loss_rate[:, None])
    np.testing.assert_allclose(history.probabilities, expected, rtol=1e-12)


@pytest.mark.parametrize("lost_passes", ["failed", "missing"])
def test_repeated_trials_pass_with_the_stated_probability(lost_passes):
    history = simulate(16, n_trials=300, lost_passes=lost_passes, **SMALL)
    trials, p = history.matrix.trials, history.probabilities
    valid = trials > 0
    standardised = (history.matrix.passes - trials * p)[valid] / np.sqrt(
        (trials * p * (1 - p))[valid]
    )
    assert standardised.mean() == pytest.approx(0, abs=0.08)
    assert standardised.var() == pytest.approx(1, abs=0.1)


def test_loss_rates_have_the_described_mean():
    loss = draw_loss_rates(200_000, rng=np.random.default_rng(17))
    assert loss.mean() == pytest.approx(0.02 + 0.01 * 0.195, rel=0.03)
    assert loss.max() <= 1


def test_missing_cells_have_the_described_rates_and_reasons():
    history = simulate(18, n_days=400, calibration_days=10, n_questions=50, n_trials=2)
    reason = history.verdicts.reason
    np.testing.assert_array_equal(reason[:, :, 0], reason[:, :, 1])
    gappy = (reason == MISSING_REASONS.index("not run")).any(axis=(1, 2))
    assert gappy.mean() == pytest.approx(0.03, abs=0.01)
    assert (reason[~gappy] >= 0).mean() == pytest.approx(0.055, abs=0.005)
    assert (reason[gappy] >= 0).mean() == pytest.approx(0.4, abs=0.05)
    share = (reason >= 0).mean(axis=(0, 2))
    assert np.corrcoef(share, history.questions.missing_weight)[0, 1] > 0.99
