"""Whole evaluations: sessions, budgets, missing verdicts, trials, decisions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.errors import InputError
from recurring_eval.hspr import AVERAGE, HsprConfig, LatentPrior, fit_sources
from recurring_eval.methods.session import Session
from tests.recurring_eval.hspr.builders import config_of, matrix_of
from tests.recurring_eval.hspr.test_sources import simulated
from tests.reference.hspr_ablations import (
    mid_range_path,
    uniform_path,
    with_mean_decision,
    without_hierarchy,
)
from tests.reference.hspr_diagnostics import (
    draw_resolution,
    draw_session_median,
    integration_resolution,
    support,
)
from tests.reference.hspr_runs import run_checkpoints, run_hspr, start_session

N = 80
SMALL = config_of(2, 1.0, n_nodes=256)
SMALL_AVERAGE = replace(AVERAGE, n_nodes=256)
IN_USE = replace(SMALL, path_nodes=256, n_nodes=512)
"""With a final proposal of its own, as calibrations have it."""


@pytest.fixture(scope="module")
def matrix():
    return simulated(1, m=15, n=N)


@pytest.fixture(scope="module")
def model(matrix):
    return fit_sources(matrix.select_runs(np.arange(14)))


@pytest.fixture(scope="module")
def target(matrix):
    return matrix.passes[14].astype(int)


ONES = np.ones(N, dtype=int)


@pytest.mark.parametrize(
    "config",
    [SMALL, SMALL_AVERAGE, without_hierarchy(SMALL), with_mean_decision(SMALL)],
    ids=lambda config: config.name,
)
def test_full_budget_is_exact(model, target, config):
    result = run_hspr(model, target, ONES, budget=N, config=config, rng=np.random.default_rng(0))
    assert result.pass_rate == target.mean()
    assert result.mean == pytest.approx(target.mean(), abs=1e-15)
    assert result.sd == 0.0
    assert result.distribution.pmf[target.sum()] == 1.0
    assert sorted(result.asked) == sorted(model.question_ids)


@pytest.mark.parametrize("config", [SMALL, SMALL_AVERAGE], ids=["one", "average"])
@pytest.mark.parametrize("outcome", [0, 1])
def test_all_pass_and_all_fail_targets_stay_finite(model, config, outcome):
    outcomes = np.full(N, outcome)
    result = run_hspr(model, outcomes, ONES, budget=20, config=config, rng=None)
    assert np.isfinite(result.distribution.pmf).all()
    assert result.distribution.pmf.sum() == pytest.approx(1.0, abs=1e-9)
    assert abs(result.pass_rate - outcome) < 0.3
    observed = 20 * outcome / N
    assert observed <= result.pass_rate <= observed + 60 / N


def test_posterior_describes_the_estimate(model, target):
    result = run_hspr(model, target, ONES, budget=15, config=SMALL, rng=None)
    values, pmf = result.distribution.values, result.distribution.pmf
    assert values.shape == pmf.shape == (N + 1,)
    assert pmf @ values == pytest.approx(result.mean, abs=1e-4)
    variance = pmf @ (values - result.mean) ** 2
    assert variance**0.5 == pytest.approx(result.sd, rel=0.01)
    assert result.distribution.quantile(0.5) == pytest.approx(result.median)
    assert values[np.searchsorted(np.cumsum(pmf), 0.5)] == pytest.approx(result.median)
    shift = result.pass_rate - result.median
    assert result.diagnostics.calibration == pytest.approx(shift, abs=1e-12)
    assert 0.1 < result.diagnostics.effective_sample_size <= 1.0


def test_calibration_is_half_the_residual_of_the_unobserved_share(model, target):
    half, none, whole = (
        run_hspr(model, target, ONES, budget=16, config=replace(SMALL, lambda_=x), rng=None)
        for x in (0.5, 0.0, 1.0)
    )
    assert none.pass_rate == none.median
    assert whole.asked == half.asked
    assert whole.pass_rate - none.pass_rate == pytest.approx(
        2 * (half.pass_rate - none.pass_rate), abs=1e-12
    )


def test_a_session_is_the_run(model, target):
    run = run_hspr(model, target, ONES, budget=27, config=IN_USE, rng=np.random.default_rng(3))
    session = start_session(model, IN_USE, rng=np.random.default_rng(3))
    by_id = dict(zip(model.question_ids, target, strict=True))
    while session.n_valid < 27:
        (question,) = session.ask()
        session = session.tell({question: (int(by_id[question]), 1)})
    assert session.asked == run.asked
    assert session.score().pass_rate[0] == run.pass_rate
    assert session.score().diagnostics[0] == run.diagnostics


def test_sessions_are_pure_and_rebuild_from_their_answers(model, target):
    start = start_session(model, SMALL, rng=np.random.default_rng(1))
    chain = [start]
    asked = []
    for _ in range(19):
        asked.append(chain[-1].ask(3))
        question = asked[-1][0]
        outcome = int(target[model.question_ids.index(question)])
        chain.append(chain[-1].tell({question: (outcome, 1)}))
    rates = [session.score().pass_rate[0] for session in chain]
    asked.append(chain[-1].ask(3))
    for session, rate, questions in zip(
        reversed(chain), reversed(rates), reversed(asked), strict=True
    ):
        assert session.score().pass_rate[0] == rate
        rebuilt = Session(
            method=session.method,
            calibration=session.calibration,
            k=session.k,
            order=session.order,
            answers=session.answers,
        )
        assert rebuilt.ask(3) == session.ask(3) == questions
        assert rebuilt.score().pass_rate[0] == rate


def test_rounds_of_questions_are_distinct_and_unanswered(model, target):
    session = start_session(model, SMALL_AVERAGE, rng=np.random.default_rng(0))
    seen: set[str] = set()
    while batch := session.ask(9):
        assert batch[0] == session.ask(1)[0]
        assert len(set(batch)) == len(batch)
        assert not seen & set(batch)
        seen |= set(batch)
        session = session.tell({q: (int(target[model.question_ids.index(q)]), 1) for q in batch})
    assert seen == set(model.question_ids)
    assert session.score().pass_rate[0] == target.mean()


def test_a_missing_verdict_is_replaced_and_does_not_count(model, target):
    session = start_session(model, SMALL, rng=np.random.default_rng(2))
    (question,) = session.ask()
    before = session.score()
    after = session.tell({question: (0, 0)})
    assert after.n_valid == 0
    assert after.asked == (question,)
    assert after.score().pass_rate == before.pass_rate
    assert after.ask()[0] != question

    trials = ONES.copy()
    trials[::3] = 0
    result = run_hspr(
        model, np.where(trials > 0, target, 0), trials, budget=30, config=SMALL, rng=None
    )
    assert result.n_valid == 30
    assert len(result.asked) > 30
    # Observed passes are exact, everything else is predicted over the whole bank.
    asked = [model.question_ids.index(q) for q in result.asked]
    passes = int(target[[q for q in asked if trials[q]]].sum())
    assert passes / N <= result.pass_rate <= (passes + N - 30) / N


def test_population_of_valid_questions_makes_their_full_budget_exact(model, target):
    trials = ONES.copy()
    trials[::4] = 0
    valid = trials > 0
    result = run_hspr(
        model,
        np.where(valid, target, 0),
        trials,
        budget=N,
        config=SMALL,
        rng=None,
        population=valid,
    )
    assert result.n_valid == valid.sum()
    assert result.pass_rate == target[valid].mean()


def test_repeated_trials_count_by_question_and_move_the_lattice(model, target):
    trials = np.full(N, 3)
    passes = np.random.default_rng(0).binomial(3, 0.2 + 0.6 * target)
    result = run_hspr(model, passes, trials, budget=20, config=SMALL, rng=None)
    asked = [model.question_ids.index(q) for q in result.asked]
    observed = passes[asked].sum() / 3
    occupied = result.distribution.values[result.distribution.pmf > 1e-6] * N
    assert (occupied - observed) % 1 == pytest.approx(np.zeros(len(occupied)), abs=1e-9) or (
        (occupied - observed) % 1
    ) == pytest.approx(np.ones(len(occupied)), abs=1e-9)
    full = run_hspr(model, passes, trials, budget=N, config=SMALL, rng=None)
    assert full.pass_rate == pytest.approx((passes / 3).mean(), abs=1e-12)


def test_fully_correlated_trials_are_one_verdict(model, target):
    certain = replace(model, trial_correlation=1.0)
    one = run_hspr(certain, target, ONES, budget=25, config=SMALL, rng=None)
    five = run_hspr(certain, 5 * target, 5 * ONES, budget=25, config=SMALL, rng=None)
    assert one.asked == five.asked
    assert one.pass_rate == pytest.approx(five.pass_rate, abs=1e-9)


def test_budgets_share_one_path(model, target):
    results = run_checkpoints(
        model, target, ONES, budgets=(5, 16, 40), config=SMALL, rng=np.random.default_rng(4)
    )
    for budget, result in zip((5, 16, 40), results, strict=True):
        alone = run_hspr(
            model, target, ONES, budget=budget, config=SMALL, rng=np.random.default_rng(4)
        )
        assert result.asked == alone.asked == results[-1].asked[:budget]
        assert result.pass_rate == alone.pass_rate


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_order_of_questions_is_irrelevant(seed):
    rng = np.random.default_rng(seed)
    matrix = simulated(2, m=12, n=40)
    target = rng.integers(0, 2, 40)
    shuffle = rng.permutation(40)
    moved = matrix.align_questions([matrix.question_ids[i] for i in shuffle])
    ones = np.ones(40, dtype=int)
    one, two = (
        run_hspr(m, t, ones, budget=18, config=SMALL, rng=np.random.default_rng(seed))
        for m, t in ((fit_sources(matrix), target), (fit_sources(moved), target[shuffle]))
    )
    assert one.asked == two.asked
    assert one.pass_rate == two.pass_rate


def test_draws_agree_with_the_lattice_and_state_their_precision(model, target):
    config = replace(SMALL, n_nodes=1024)
    session = start_session(model, config, rng=None)
    for _ in range(12):
        (question,) = session.ask()
        session = session.tell({question: (int(target[model.question_ids.index(question)]), 1)})
    draws = draw_session_median(session, rng=np.random.default_rng(20261005))
    assert draws.precise
    assert draws.standard_errors < 4.0
    assert draws.median_low <= draws.median <= draws.median_high
    assert abs(draws.median - session.score().distribution[0].quantile(0.5)) <= 1 / N + 1e-12
    check = draw_resolution(session, rng=np.random.default_rng(1))
    assert check.passed
    assert (check.coarse, check.fine) == (65_536, 131_072)
    nodes = integration_resolution(session, reference_nodes=8192, n_nodes=4096)
    assert nodes.passed
    assert not integration_resolution(session, n_nodes=2, reference_nodes=8192).passed


def test_resolution_of_draws_is_that_of_the_nodes_the_decision_is_taken_on(model, target):
    session = start_session(model, replace(SMALL, path_nodes=1), rng=None)
    session = session.tell({model.question_ids[j]: (int(target[j]), 1) for j in range(12)})
    rng = np.random.default_rng(1)
    few, more = (
        draw_session_median(session, n_draws=count, max_draws=count, rng=rng).median
        for count in (21, 51)
    )
    check = draw_resolution(session, n_draws=21, reference_draws=51, rng=np.random.default_rng(1))
    assert check.difference == abs(few - more) > 0.0


def test_draws_double_until_precise(model):
    session = start_session(model, SMALL, rng=None)
    few = draw_session_median(session, n_draws=64, max_draws=64, rng=np.random.default_rng(0))
    assert (few.n_draws, few.precise) == (64, False)
    more = draw_session_median(session, n_draws=64, max_draws=2**18, rng=np.random.default_rng(0))
    assert more.precise
    assert more.n_draws > 64


def test_static_paths(matrix, model, target):
    sources = matrix.select_runs(np.arange(14))
    path = mid_range_path(sources)
    distance = np.abs(sources.passes.sum(axis=0) * 2 - 14)
    assert (np.diff(distance[path]) >= 0).all()
    result = run_hspr(model, target, ONES, budget=10, config=SMALL, rng=None, path=path)
    assert result.asked == tuple(model.question_ids[q] for q in path[:10])
    assert sorted(uniform_path(N, np.random.default_rng(0))) == list(range(N))


def test_support_counts_what_no_source_passed(model, target):
    zero = model.source_zero[model.group_of_question]
    found = support(model, target, ONES, np.flatnonzero(zero)[:2])
    assert found.source_zero_share == zero.mean()
    assert found.target_success == target[zero].mean()
    assert found.query_coverage == 1.0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_nodes": 100}, "power of two"),
        ({"kappa": 0.0}, "kappa"),
        ({"lambda_": 2.0}, "lambda_"),
        ({"refresh_every": 0}, "refresh_every"),
        ({"latent": ()}, "latent"),
    ],
)
def test_unusable_configurations_are_refused(bad, message):
    with pytest.raises(InputError, match=message):
        HsprConfig(**{"latent": (LatentPrior(rank=1, precision=1.0),), **bad})


def test_latent_acquisition_needs_one_prior():
    with pytest.raises(InputError, match="one latent prior"):
        replace(AVERAGE, acquisition="latent")


def test_wrong_answers_are_refused(model):
    session = start_session(model, SMALL, rng=None)
    with pytest.raises(InputError, match="not in the bank"):
        session.tell({"nonsense": (1, 1)})
    with pytest.raises(InputError, match="2 passes of 1 trials"):
        session.tell({model.question_ids[0]: (2, 1)})
    told = session.tell({model.question_ids[0]: (1, 1)})
    with pytest.raises(InputError, match="was answered before"):
        told.tell({model.question_ids[0]: (1, 1)})
    assert matrix_of([[1, 0]]).n_questions == 2
